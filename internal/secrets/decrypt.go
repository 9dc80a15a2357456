// Package secrets reads and writes SOPS files with age, using the sops library and memory only: no
// identity, data key or value is ever written to a file.
package secrets

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"
)

// An Identity is one or more age secret keys.
type Identity struct {
	sops       sopsage.ParsedIdentities
	age        []age.Identity
	recipients []string
}

// ParseIdentity reads an age identity file: one secret key per line, and comments. Its errors never
// quote the text.
func ParseIdentity(text string) (Identity, error) {
	var identity Identity
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parsed, err := age.ParseIdentities(strings.NewReader(line))
		if err != nil {
			return Identity{}, errors.New("the age identity has a line that is not an age secret key")
		}
		switch key := parsed[0].(type) {
		case *age.X25519Identity:
			identity.recipients = append(identity.recipients, key.Recipient().String())
		case *age.HybridIdentity:
			identity.recipients = append(identity.recipients, key.Recipient().String())
		default:
			return Identity{}, fmt.Errorf("the age identity contains a %T, which is not supported", key)
		}
		identity.age = append(identity.age, parsed[0])
		if err := identity.sops.Import(line); err != nil {
			return Identity{}, errors.New("the age identity has a line that sops does not accept")
		}
	}
	if len(identity.recipients) == 0 {
		return Identity{}, errors.New("the age identity is empty")
	}
	return identity, nil
}

// Recipients returns the public keys, for messages.
func (i Identity) Recipients() []string { return i.recipients }

// A ForeignError means that a file is encrypted to other recipients.
type ForeignError struct {
	Path       string
	Recipients []string // the file's recipients
	Mine       []string // the identity's recipients
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is encrypted to %s, not to %s", e.Path, strings.Join(e.Recipients, ", "), strings.Join(e.Mine, ", "))
}

// ErrPlain means that a file is not encrypted.
var ErrPlain = errors.New("is not encrypted")

// storeFor chooses the format by file extension.
func storeFor(name string) (sops.Store, error) {
	formats := config.NewStoresConfig()
	switch path.Ext(name) {
	case ".env":
		return dotenv.NewStore(&formats.Dotenv), nil
	case ".yaml", ".yml":
		return yaml.NewStore(&formats.YAML), nil
	case ".json":
		return json.NewStore(&formats.JSON), nil
	}
	return nil, fmt.Errorf("%s does not end in .env, .yaml or .json", name)
}

// load parses an encrypted file.
func load(name string, data []byte) (sops.Tree, error) {
	store, err := storeFor(name)
	if err != nil {
		return sops.Tree{}, err
	}
	tree, err := store.LoadEncryptedFile(data)
	if errors.Is(err, sops.MetadataNotFound) {
		return sops.Tree{}, fmt.Errorf("%s %w", name, ErrPlain)
	}
	if err != nil {
		// The library's error may quote a line of an unencrypted file.
		return sops.Tree{}, fmt.Errorf("%s cannot be read as a SOPS file", name)
	}
	return tree, refuseTwice(name, data, tree)
}

// recipients lists a file's age recipients, in file order.
func recipients(tree sops.Tree) []string {
	var list []string
	for _, group := range tree.Metadata.KeyGroups {
		for _, key := range group {
			if key, ok := key.(*sopsage.MasterKey); ok {
				list = append(list, key.Recipient)
			}
		}
	}
	return list
}

// dataKey decrypts the key that encrypts the values.
func dataKey(name string, tree sops.Tree, identity Identity) ([]byte, error) {
	for _, group := range tree.Metadata.KeyGroups {
		for _, key := range group {
			key, ok := key.(*sopsage.MasterKey)
			if !ok {
				continue
			}
			identity.sops.ApplyToMasterKey(key)
			if data, err := key.Decrypt(); err == nil {
				return data, nil
			}
		}
	}
	return nil, &ForeignError{name, recipients(tree), identity.recipients}
}

// open decrypts the tree in place and checks its MAC. The returned cipher remembers what it
// decrypted: unchanged values are encrypted to the same bytes again, so changing one value changes
// one line.
func open(name string, tree sops.Tree, identity Identity) (key []byte, cipher sops.Cipher, err error) {
	key, err = dataKey(name, tree, identity)
	if err != nil {
		return nil, nil, err
	}
	cipher = aes.NewCipher()
	mac, err := tree.Decrypt(key, cipher)
	if err != nil {
		return nil, nil, fmt.Errorf("%s has a value that cannot be decrypted with its key: it was changed without sops", name)
	}
	sealed, err := cipher.Decrypt(tree.Metadata.MessageAuthenticationCode, key, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil || sealed != mac {
		return nil, nil, fmt.Errorf("%s does not match its MAC: it was changed without sops", name)
	}
	return key, cipher, refuseUndeclared(name, tree)
}

// variableName matches names that are portable in a process environment.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Decrypt returns the variables of the SOPS file called name, whose extension determines its
// format. The file must be flat: names and scalar values.
func Decrypt(name string, data []byte, identity Identity) (map[string]string, error) {
	tree, err := load(name, data)
	if err != nil {
		return nil, err
	}
	if _, _, err := open(name, tree, identity); err != nil {
		return nil, err
	}
	return variables(name, tree)
}

// variables reads a decrypted tree.
func variables(name string, tree sops.Tree) (map[string]string, error) {
	values := map[string]string{}
	var others map[string]string
	for _, branch := range tree.Branches {
		for _, item := range branch {
			key, ok := item.Key.(string)
			if !ok {
				continue // a comment
			}
			if key == EmptyVariables {
				continue // Slipway's own list
			}
			if !variableName.MatchString(key) {
				return nil, fmt.Errorf("%s has %q, which is not a valid variable name", name, key)
			}
			switch value := item.Value.(type) {
			case string:
				values[key] = value
			case sops.TreeBranch, []interface{}, nil:
				return nil, fmt.Errorf("%s has %q, which is not a scalar value", name, key)
			default:
				if others == nil {
					var err error
					if others, err = printed(name, tree); err != nil {
						return nil, err
					}
				}
				values[key] = others[key]
			}
		}
	}
	return values, nil
}
