package flux

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"filippo.io/age"

	"slipway/internal/secrets"
)

// Recipient returns the public key of an age identity.
func Recipient(identity string) (string, error) {
	identities, err := age.ParseIdentities(strings.NewReader(identity))
	if err != nil || len(identities) != 1 {
		return "", errors.New("it is not an age identity")
	}
	own, ok := identities[0].(interface{ Recipient() *age.X25519Recipient })
	if !ok {
		return "", errors.New("it is not an X25519 identity")
	}
	return own.Recipient().String(), nil
}

// Foreign returns the first SOPS file in the folder that the recipient cannot decrypt, and its recipients. name is empty if there
// is none. A folder that is not there has no files.
func Foreign(repository fs.FS, folder, recipient string) (name string, recipients []string, err error) {
	err = fs.WalkDir(repository, path.Clean(folder), func(file string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case file == secrets.Folder: // those are Slipway's
			return fs.SkipDir
		case err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json", ".env"}, path.Ext(file)):
			return err
		}
		data, err := fs.ReadFile(repository, file)
		if err != nil {
			return err
		}
		list, err := secrets.Recipients(file, data)
		if err != nil || len(list) == 0 || slices.Contains(list, recipient) {
			return nil //nolint:nilerr // it is no SOPS file, or one for other keys than age's
		}
		name, recipients = file, list
		return fs.SkipAll
	})
	return name, recipients, err
}
