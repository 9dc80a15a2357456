package secrets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/version"
)

// Seal encrypts variables, sorted by name, as a new SOPS file for the age recipients.
func Seal(name string, values map[string]string, recipients []string) ([]byte, error) {
	var branch sops.TreeBranch
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !variableName.MatchString(key) {
			return nil, fmt.Errorf("%q is not a valid variable name", key)
		}
		branch = append(branch, sops.TreeItem{Key: key, Value: values[key]})
	}
	group, err := keyGroup(recipients)
	if err != nil {
		return nil, err
	}
	tree := sops.Tree{
		Branches: sops.TreeBranches{branch},
		Metadata: sops.Metadata{KeyGroups: []sops.KeyGroup{group}, Version: version.Version},
		FilePath: name,
	}
	return sealWithNewKey(name, tree)
}

// Set adds or changes one variable in an encrypted file.
func Set(name string, data []byte, identity Identity, variable, value string) ([]byte, error) {
	if !variableName.MatchString(variable) {
		return nil, fmt.Errorf("%q is not a valid variable name", variable)
	}
	tree, err := load(name, data)
	if err != nil {
		return nil, err
	}
	key, cipher, err := open(name, tree, identity)
	var undeclared *UndeclaredError
	if errors.As(err, &undeclared) && slices.Equal(undeclaredIn(tree), []string{variable}) {
		err = nil // the caller has the key and sets the value now
	}
	if err != nil {
		return nil, err
	}
	branch := tree.Branches[0]
	at := slices.IndexFunc(branch, func(item sops.TreeItem) bool { return item.Key == variable })
	if at < 0 {
		branch = append(branch, sops.TreeItem{Key: variable})
		at = len(branch) - 1
	}
	branch[at].Value = value
	tree.Branches[0] = branch
	return emit(name, tree, key, cipher)
}

// Rotate re-encrypts a file with a new data key. Whoever kept the old one cannot read what is
// written from now on. The recipients stay the same.
func Rotate(name string, data []byte, identity Identity) ([]byte, error) {
	tree, err := load(name, data)
	if err != nil {
		return nil, err
	}
	if _, _, err := open(name, tree, identity); err != nil {
		return nil, err
	}
	return sealWithNewKey(name, tree)
}

// UpdateKeys re-encrypts a file for exactly these recipients. It uses a new data key, because a
// removed recipient may have kept the old one.
func UpdateKeys(name string, data []byte, identity Identity, recipients []string) ([]byte, error) {
	tree, err := load(name, data)
	if err != nil {
		return nil, err
	}
	if _, _, err := open(name, tree, identity); err != nil {
		return nil, err
	}
	group, err := keyGroup(recipients)
	if err != nil {
		return nil, err
	}
	tree.Metadata.KeyGroups = []sops.KeyGroup{group}
	return sealWithNewKey(name, tree)
}

func keyGroup(recipients []string) (sops.KeyGroup, error) {
	if len(recipients) == 0 {
		return nil, errors.New("there is no age recipient to encrypt to")
	}
	var group sops.KeyGroup
	for _, recipient := range recipients {
		key, err := sopsage.MasterKeyFromRecipient(recipient)
		if err != nil {
			return nil, fmt.Errorf("%q is not an age recipient", recipient)
		}
		group = append(group, key)
	}
	return group, nil
}

// sealWithNewKey encrypts a plain tree for the recipients in its metadata.
func sealWithNewKey(name string, tree sops.Tree) ([]byte, error) {
	key, errs := tree.GenerateDataKey()
	if len(errs) > 0 {
		return nil, fmt.Errorf("encrypt %s: %w", name, errors.Join(errs...))
	}
	return emit(name, tree, key, aes.NewCipher())
}

// emit encrypts a plain tree with key and writes it in the file's format.
func emit(name string, tree sops.Tree, key []byte, cipher sops.Cipher) ([]byte, error) {
	store, err := storeFor(name)
	if err != nil {
		return nil, err
	}
	declare(&tree)
	mac, err := tree.Encrypt(key, cipher)
	if err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", name, err)
	}
	tree.Metadata.LastModified = time.Now().UTC()
	tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(mac, key, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", name, err)
	}
	return store.EmitEncryptedFile(tree)
}
