package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"

	"slipway/internal/printable"
)

// Folder contains a repository's SOPS files.
const Folder = "credentials"

// Rule returns the age recipients for the file called name, as configured in .sops.yaml at the
// repository's root.
func Rule(repository, name string) ([]string, error) {
	file := filepath.Join(repository, ".sops.yaml")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the repository has no .sops.yaml")
	}
	rule, err := config.LoadCreationRuleForFile(file, filepath.Join(repository, name), nil)
	if err != nil {
		return nil, fmt.Errorf("read .sops.yaml for %s: %w", name, err)
	}
	var list []string
	if rule != nil {
		for _, group := range rule.KeyGroups {
			for _, key := range group {
				key, ok := key.(*sopsage.MasterKey)
				if !ok {
					return nil, fmt.Errorf(".sops.yaml has a key for %s that is not an age key", name)
				}
				list = append(list, key.Recipient)
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf(".sops.yaml names no recipient for %s", name)
	}
	return list, nil
}

// List returns the repository's SOPS files: everything below credentials/ except templates and
// documentation.
func List(repository string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(repository), Folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() && !strings.HasSuffix(name, ".example") && !strings.HasSuffix(name, ".md") && entry.Name() != ".gitignore" {
			names = append(names, name)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// A Finding is the result of Check for one file.
type Finding struct {
	Path       string
	Recipients []string // the file's recipients
	Opened     bool     // decrypted with the identity, and the MAC is valid
	Fault      error    // nil: nothing is wrong
	Hint       string   // how to fix the fault
}

// Check inspects every file below credentials/. Each must be encrypted to exactly the recipients in
// .sops.yaml and have a valid MAC, which only a recipient can check. identity may be nil.
func Check(repository string, identity *Identity) ([]Finding, error) {
	names, err := List(repository)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, name := range names {
		f := Finding{Path: name}
		f.check(repository, names, identity)
		findings = append(findings, f)
	}
	return findings, nil
}

func (f *Finding) check(repository string, names []string, identity *Identity) {
	fail := func(err error, hint string) { f.Fault, f.Hint = err, hint }
	data, err := os.ReadFile(filepath.Join(repository, f.Path))
	if err != nil {
		fail(err, "ls -l "+printable.Word(f.Path))
		return
	}
	if sealed := sealedTwin(f.Path); slices.Contains(names, sealed) {
		fail(fmt.Errorf("%s is the plain text of %s", f.Path, sealed), "git rm --cached "+printable.Word(f.Path)+" && rm "+printable.Word(f.Path)+", and change every secret in it")
		return
	}
	f.Recipients, err = Recipients(f.Path, data)
	if errors.Is(err, ErrTwice) {
		fail(err, "git log -p -- "+printable.Word(f.Path))
		return
	}
	if err != nil {
		fail(err, "sops --encrypt --in-place "+printable.Word(f.Path)+", and change every secret in it if it was ever committed")
		return
	}
	wanted, err := Rule(repository, f.Path)
	if err != nil {
		fail(err, "$EDITOR .sops.yaml")
		return
	}
	if !sameSet(f.Recipients, wanted) {
		fail(fmt.Errorf("%s is encrypted to %s, and .sops.yaml names %s", f.Path, strings.Join(f.Recipients, ", "), strings.Join(wanted, ", ")),
			"dagger call secrets update-keys --file="+printable.Word(f.Path))
		return
	}
	// The list of empty variables is encrypted, but its presence is visible.
	if tree, err := load(f.Path, data); err == nil {
		if names := empty(tree); len(names) > 0 && value(tree, EmptyVariables) == "" {
			fail(&UndeclaredError{f.Path, names[0]}, "git log -p -- "+printable.Word(f.Path))
			return
		}
	}
	if identity == nil {
		return
	}
	err = verify(f.Path, data, *identity)
	var foreign *ForeignError
	if errors.As(err, &foreign) {
		return // not encrypted to us
	}
	if err != nil {
		fail(err, "git log -- "+printable.Word(f.Path))
		return
	}
	f.Opened = true
}

// sealedTwin returns the name of a plain file's encrypted form: x.env becomes x.enc.env.
func sealedTwin(name string) string {
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + ".enc" + extension
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
