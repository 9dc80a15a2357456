// Package credentials contains the commands that check and change the SOPS files below
// credentials/.
package credentials

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/run"
	"slipway/internal/secrets"
)

const fileHelp = "file below credentials/"

// Set sets one variable in a file, and creates the file if it does not exist.
func Set() run.Command {
	var file, variable, value string
	return run.Command{
		Name: "secrets-set", Help: "set one variable in a SOPS file",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&file, "file", "", fileHelp)
			f.StringVar(&variable, "variable", "", "name of the variable")
			f.StringVar(&value, "value", "/run/secrets/value", "file with its value")
		},
		Run: func(_ context.Context, r *run.Run) error { return setOne(r, file, variable, value) },
	}
}

func setOne(r *run.Run, file, variable, valueFile string) error {
	value, err := os.ReadFile(valueFile)
	if err != nil {
		return fault.Refuse("dagger call secrets set --file=… --variable=… --value=env://VALUE", "no value was given")
	}
	// A value from a file or a command ends in a line break that is not part of it.
	text := strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
	r.Mask.Add(text)
	return setVariables(r, file, map[string]string{variable: text})
}

// Edit sets all variables of a dotenv file in a SOPS file.
func Edit() run.Command {
	var file, content string
	return run.Command{
		Name: "secrets-edit", Help: "set all variables of a dotenv file in a SOPS file",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&file, "file", "", fileHelp)
			f.StringVar(&content, "content", "/run/secrets/content", "dotenv file with the variables")
		},
		Run: func(_ context.Context, r *run.Run) error { return setMany(r, file, content) },
	}
}

func setMany(r *run.Run, file, contentFile string) error {
	data, err := os.ReadFile(contentFile)
	if err != nil {
		return fault.Refuse("dagger call secrets edit --file=… --content=file:///dev/shm/new.env", "no content was given")
	}
	r.Mask.Add(strings.Split(string(data), "\n")...)
	values, err := secrets.ReadDotenv(data)
	if err != nil {
		return fault.Refuse("write NAME=value on each line, and each name only once", "the content is not a dotenv file")
	}
	for _, value := range values {
		r.Mask.Add(value)
	}
	if len(values) == 0 {
		return fault.Refuse("write NAME=value on each line", "the content has no variables")
	}
	return setVariables(r, file, values)
}

func setVariables(r *run.Run, file string, values map[string]string) error {
	name, err := pathOf(file)
	if err != nil {
		return err
	}
	identity, err := run.ReadIdentity(r.IdentityFile, r.Mask)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(r.Repository, name))
	if errors.Is(err, fs.ErrNotExist) {
		recipients, err := secrets.Rule(r.Repository, name)
		if err != nil {
			return fault.Refuse("$EDITOR .sops.yaml", "%v", err)
		}
		if data, err = secrets.Seal(name, values, recipients); err != nil {
			return fault.Refuse("name the variable with letters, digits and _", "%v", err)
		}
		fmt.Fprintf(&r.Report, "%s: created, encrypted to %s\n", name, strings.Join(recipients, ", "))
		return r.LeaveChanged(name, data)
	}
	if err != nil {
		return err
	}
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		if data, err = secrets.Set(name, data, identity, variable, values[variable]); err != nil {
			return secrets.Refuse(name, err)
		}
		fmt.Fprintf(&r.Report, "%s: %s is set\n", name, variable)
	}
	return r.LeaveChanged(name, data)
}

// pathOf returns the path of a named file, relative to the repository's root.
func pathOf(file string) (string, error) {
	name := file
	if !strings.HasPrefix(name, secrets.Folder+"/") {
		name = secrets.Folder + "/" + name
	}
	if file == "" || !fs.ValidPath(name) || !strings.Contains(name, ".enc.") {
		return "", fault.Refuse("name one such as --file=credentials/test.enc.env", "%q is not a SOPS file in %s/", file, secrets.Folder)
	}
	return name, nil
}
