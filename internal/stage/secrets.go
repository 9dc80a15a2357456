package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"slipway/internal/refusal"
	"slipway/internal/secrets"
)

// SecretsOptions are those of the secrets stages.
type SecretsOptions struct {
	File     string // below credentials/; empty: all
	Variable string // that set changes
	Value    string // file with its value
	Content  string // file with the variables that edit changes
}

// secretsCheck tells of each file who can read it and whether it is as it must be.
func (s *Run) secretsCheck(context.Context) error {
	var identity *secrets.Identity
	err := s.ReadIdentity()
	var input *refusal.Error
	switch {
	case err == nil:
		identity = &s.Identity
	case errors.As(err, &input):
		s.Report.WriteString("no age identity is given: the MACs were not checked\n")
	default:
		return err
	}
	findings, err := secrets.Check(s.Repository, identity)
	if err != nil {
		return err
	}
	var faults []secrets.Finding
	for _, f := range findings {
		switch {
		case f.Fault != nil:
			faults = append(faults, f)
			fmt.Fprintf(&s.Report, "%s: at fault: %v\n", f.Path, f.Fault)
		case f.Opened:
			fmt.Fprintf(&s.Report, "%s: read by %s; its MAC holds\n", f.Path, strings.Join(f.Recipients, ", "))
		default:
			fmt.Fprintf(&s.Report, "%s: read by %s; its MAC was not checked\n", f.Path, strings.Join(f.Recipients, ", "))
		}
	}
	if len(findings) == 0 {
		s.Report.WriteString("there is no file in credentials/\n")
	}
	if len(faults) == 0 {
		return nil
	}
	message := faults[0].Fault.Error()
	if more := len(faults) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more at fault)", more)
	}
	return refusal.New(faults[0].Hint, "%s", message)
}

// secretsSet puts one variable into a file, and makes the file if there is none.
func (s *Run) secretsSet(context.Context) error {
	value, err := os.ReadFile(s.Secrets.Value)
	if err != nil {
		return refusal.New("dagger call secrets set --file=… --variable=… --value=env://VALUE", "no value is given")
	}
	// A value that comes from a file or a command ends in a line break that is no
	// part of it.
	text := strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
	s.Add(text)
	return s.changeOne(map[string]string{s.Secrets.Variable: text})
}

// secretsEdit puts all variables of a dotenv file into a SOPS file.
func (s *Run) secretsEdit(context.Context) error {
	data, err := os.ReadFile(s.Secrets.Content)
	if err != nil {
		return refusal.New("dagger call secrets edit --file=… --content=file:///dev/shm/new.env", "no content is given")
	}
	s.Add(strings.Split(string(data), "\n")...)
	values, err := readDotenv(data)
	if err != nil {
		return refusal.New("write NAME=value on each line, and each name once", "the content is no dotenv file")
	}
	for _, value := range values {
		s.Add(value)
	}
	if len(values) == 0 {
		return refusal.New("write NAME=value on each line", "the content holds no variable")
	}
	return s.changeOne(values)
}

func (s *Run) changeOne(values map[string]string) error {
	name, err := s.secretsFile()
	if err != nil {
		return err
	}
	if err := s.ReadIdentity(); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(s.Repository, name))
	if errors.Is(err, fs.ErrNotExist) {
		recipients, err := secrets.Rule(s.Repository, name)
		if err != nil {
			return refusal.New("$EDITOR .sops.yaml", "%v", err)
		}
		if data, err = secrets.Seal(name, values, recipients); err != nil {
			return refusal.New("name the variable with letters, digits and _", "%v", err)
		}
		fmt.Fprintf(&s.Report, "%s: made, for %s\n", name, strings.Join(recipients, ", "))
		return s.LeaveChanged(name, data)
	}
	if err != nil {
		return err
	}
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		if data, err = secrets.Set(name, data, s.Identity, variable, values[variable]); err != nil {
			return RefuseSecrets(name, err)
		}
		fmt.Fprintf(&s.Report, "%s: %s is set\n", name, variable)
	}
	return s.LeaveChanged(name, data)
}

// secretsFile is the file that is named, from the repository's root.
func (s *Run) secretsFile() (string, error) {
	name := s.Secrets.File
	if !strings.HasPrefix(name, secrets.Folder+"/") {
		name = secrets.Folder + "/" + name
	}
	if s.Secrets.File == "" || !fs.ValidPath(name) || !strings.Contains(name, ".enc.") {
		return "", refusal.New("name one such as --file=credentials/test.enc.env", "%q is no SOPS file in %s/", s.Secrets.File, secrets.Folder)
	}
	return name, nil
}

// secretsRotate gives files a new data key.
func (s *Run) secretsRotate(context.Context) error {
	return s.changeAll(func(name string, data []byte) ([]byte, error) {
		return secrets.Rotate(name, data, s.Identity)
	})
}

// secretsUpdateKeys seals files to the recipients that .sops.yaml names.
func (s *Run) secretsUpdateKeys(context.Context) error {
	return s.changeAll(func(name string, data []byte) ([]byte, error) {
		wanted, err := secrets.Rule(s.Repository, name)
		if err != nil {
			return nil, err
		}
		return secrets.UpdateKeys(name, data, s.Identity, wanted)
	})
}

func (s *Run) changeAll(change func(name string, data []byte) ([]byte, error)) error {
	if err := s.ReadIdentity(); err != nil {
		return err
	}
	names, err := secrets.List(s.Repository)
	if err != nil {
		return err
	}
	if s.Secrets.File != "" {
		name, err := s.secretsFile()
		if err != nil {
			return err
		}
		names = []string{name}
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(s.Repository, name))
		if err != nil {
			return refusal.New("ls credentials", "%s cannot be read", name)
		}
		sealed, err := change(name, data)
		if err != nil {
			return RefuseSecrets(name, err)
		}
		if bytes.Equal(sealed, data) {
			continue
		}
		fmt.Fprintf(&s.Report, "%s: sealed with a new data key\n", name)
		if err := s.LeaveChanged(name, sealed); err != nil {
			return err
		}
	}
	return nil
}

// LeaveChanged leaves a new version of a file of the repository in /out.
func (s *Run) LeaveChanged(name string, sealed []byte) error {
	path := filepath.Join(s.Out, "changed", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, sealed, 0o644)
}
