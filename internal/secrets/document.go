package secrets

import (
	"fmt"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/version"
)

// SealDocument encrypts a YAML document, whose values may be nested, as a new SOPS file for the age
// recipients.
func SealDocument(name string, plain []byte, recipients []string) ([]byte, error) {
	store, err := storeFor(name)
	if err != nil {
		return nil, err
	}
	branches, err := store.LoadPlainFile(plain)
	if err != nil || len(branches) != 1 {
		return nil, fmt.Errorf("%s would not be one document", name) // the library's error may quote it
	}
	group, err := keyGroup(recipients)
	if err != nil {
		return nil, err
	}
	return sealWithNewKey(name, sops.Tree{
		Branches: branches, Metadata: sops.Metadata{KeyGroups: []sops.KeyGroup{group}, Version: version.Version}, FilePath: name,
	})
}

// OpenDocument returns the document in the SOPS file called name. It refuses empty values: SOPS does not
// encrypt them, so anyone who can write the file can blank one.
func OpenDocument(name string, data []byte, identity Identity) ([]byte, error) {
	tree, err := load(name, data)
	if err != nil {
		return nil, err
	}
	if _, _, err := open(name, tree, identity); err != nil {
		return nil, err
	}
	if len(tree.Branches) != 1 {
		return nil, fmt.Errorf("%s has %d documents, and can have one", name, len(tree.Branches))
	}
	if at := firstEmpty(tree.Branches[0], ""); at != "" {
		return nil, fmt.Errorf("%s has an empty %s", name, at[1:])
	}
	store, err := storeFor(name)
	if err != nil {
		return nil, err
	}
	plain, err := store.EmitPlainFile(tree.Branches)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written again", name)
	}
	return plain, nil
}

// firstEmpty returns the path of the first empty value at or below value, such as .certs.etcd.key; "" if
// there is none.
func firstEmpty(value any, at string) string {
	switch value := value.(type) {
	case sops.TreeBranch:
		for _, item := range value {
			if key, ok := item.Key.(string); ok { // a comment is no value
				if found := firstEmpty(item.Value, at+"."+key); found != "" {
					return found
				}
			}
		}
	case []any:
		for i, item := range value {
			if found := firstEmpty(item, fmt.Sprintf("%s[%d]", at, i)); found != "" {
				return found
			}
		}
	case string:
		if value == "" {
			return at
		}
	}
	return ""
}

// nested reports whether a file is a document, not a list of variables.
func nested(tree sops.Tree) bool {
	for _, branch := range tree.Branches {
		for _, item := range branch {
			switch item.Value.(type) {
			case sops.TreeBranch, []any:
				return true
			}
		}
	}
	return false
}

// verify checks that identity can read the SOPS file called name, and that it is unchanged.
func verify(name string, data []byte, identity Identity) error {
	tree, err := load(name, data)
	if err != nil {
		return err
	}
	if nested(tree) {
		_, err = OpenDocument(name, data, identity)
	} else {
		_, err = Decrypt(name, data, identity)
	}
	return err
}
