package credentials

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"slipway/internal/fault"
	"slipway/internal/run"
	"slipway/internal/secrets"
)

// Rotate re-encrypts files with a new data key.
func Rotate() run.Command {
	var file string
	return run.Command{
		Name: "secrets-rotate", Help: "re-encrypt the SOPS files, or one of them, with a new data key",
		Flags: func(f *flag.FlagSet) { f.StringVar(&file, "file", "", fileHelp+"; empty: all") },
		Run: func(_ context.Context, r *run.Run) error {
			return changeAll(r, file, secrets.Rotate)
		},
	}
}

// UpdateKeys re-encrypts files to the recipients in .sops.yaml.
func UpdateKeys() run.Command {
	var file string
	return run.Command{
		Name: "secrets-updatekeys", Help: "re-encrypt the SOPS files, or one of them, to the recipients in .sops.yaml",
		Flags: func(f *flag.FlagSet) { f.StringVar(&file, "file", "", fileHelp+"; empty: all") },
		Run: func(_ context.Context, r *run.Run) error {
			return changeAll(r, file, func(name string, data []byte, identity secrets.Identity) ([]byte, error) {
				wanted, err := secrets.Rule(r.Repository, name)
				if err != nil {
					return nil, err
				}
				return secrets.UpdateKeys(name, data, identity, wanted)
			})
		},
	}
}

// changeAll changes the named file, or all files, and returns the changed ones.
func changeAll(r *run.Run, file string, change func(name string, data []byte, identity secrets.Identity) ([]byte, error)) error {
	identity, err := run.ReadIdentity(r.IdentityFile, r.Mask)
	if err != nil {
		return err
	}
	names, err := secrets.List(r.Repository)
	if err != nil {
		return err
	}
	if file != "" {
		name, err := pathOf(file)
		if err != nil {
			return err
		}
		names = []string{name}
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(r.Repository, name))
		if err != nil {
			return fault.Refuse("ls credentials", "%s cannot be read", name)
		}
		sealed, err := change(name, data, identity)
		if err != nil {
			return secrets.Refuse(name, err)
		}
		if bytes.Equal(sealed, data) {
			continue
		}
		fmt.Fprintf(&r.Report, "%s: encrypted with a new data key\n", name)
		if err := r.LeaveChanged(name, sealed); err != nil {
			return err
		}
	}
	return nil
}
