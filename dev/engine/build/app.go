package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debianOptions are those of mmdebstrap for this image.
func (i Image) debianOptions() []string {
	options := DebianImageOptions
	for _, hook := range i.Hooks {
		options = append(options[:len(options):len(options)], "--customize-hook="+hook)
	}
	return options
}

// DebianRoot is the archive of a Debian root that several images share.
func (i Image) DebianRoot(c Cache) Product {
	return Product{
		Name:   "debian-" + i.Root,
		Inputs: append([]string{"debian root 1"}, DebianInputs(i.Packages, i.debianOptions()...)...),
		Make: func(ctx context.Context, dir string) error {
			return c.Debian(ctx, filepath.Join(dir, DebianArchive), i.Packages, i.debianOptions()...)
		},
	}
}

const DebianArchive = "root.tar"

// appFiles lists the files of a program of ours, by their paths in its folder, without its tests,
// its documentation and what npm may have left there.
func appFiles(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "test") {
			return filepath.SkipDir
		}
		if d.IsDir() || strings.HasSuffix(d.Name(), ".test.js") || strings.HasSuffix(d.Name(), ".md") {
			return nil
		}
		name, err := filepath.Rel(folder, path)
		names = append(names, name)
		return err
	})
	return names, err
}

// appInputs describes the program's files. One that cannot be read is reported when it is archived.
func appInputs(folder string) []string {
	names, err := appFiles(folder)
	inputs := []string{"app 1"}
	if err != nil {
		return append(inputs, err.Error())
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return append(inputs, err.Error())
		}
		sum := sha256.Sum256(data)
		inputs = append(inputs, name, hex.EncodeToString(sum[:]))
	}
	return inputs
}

// appLayer archives a program at /app with the packages in its package-lock.json, whose checksums
// npm verifies. None of them may need a script to be installed.
func (c Cache) appLayer(ctx context.Context, folder, scratch, archive string) error {
	names, err := appFiles(folder)
	if err != nil {
		return err
	}
	app := filepath.Join(scratch, "app")
	for _, name := range names {
		to := filepath.Join(app, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := Install(filepath.Join(folder, name), to, 0o644); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(app, "package-lock.json")); err == nil {
		if err := c.npm(ctx, app); err != nil {
			return err
		}
	}
	return WriteLayer(archive, Placement{app, "/app", Never})
}

// npm installs a program's packages from the registry that this machine is configured for.
func (c Cache) npm(ctx context.Context, app string) error {
	cmd := exec.CommandContext(ctx, "npm", "ci", "--omit=dev", "--ignore-scripts", "--no-bin-links", "--no-audit", "--no-fund",
		"--no-update-notifier", "--cache="+c.Path("npm"))
	cmd.Dir = app
	if _, err := Output(cmd); err != nil {
		return fmt.Errorf("install the packages of %s: %w", filepath.Base(app), err)
	}
	// npm's own note of what it did may name that registry.
	err := os.Remove(filepath.Join(app, "node_modules", ".package-lock.json"))
	if os.IsNotExist(err) { // there are no packages
		return nil
	}
	return err
}
