package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"slipway/internal/confine"
	"slipway/internal/manifest"
)

// Prepare makes the work folder ready for the tools: a copy of the repository, and
// folders of their own. They are kept out of the repository itself, where the sealed
// credentials are, and out of the key.
func (s *Run) Prepare() error {
	if !confine.Switches() {
		s.Say("note: this is not root, so the tools run as the same user, and can read the age identity and the sealed credentials")
	}
	if err := s.RefuseProxies(func(name string) string { return s.Credentials[name] }); err != nil {
		return err
	}
	for _, path := range []string{s.Repository, s.IdentityFile} {
		if err := confine.Close(path); err != nil {
			return err
		}
	}
	if err := s.Folder().Open(); err != nil {
		return err
	}
	if err := s.Folder().Make("home", "tmp", "data", "plans"); err != nil {
		return s.Full(err)
	}
	return s.copyRepository()
}

// Folder is where the tools work.
func (s *Run) Folder() confine.Folder { return confine.Folder(s.Work) }

// Inside is a path in the work folder, from there on.
func (s *Run) Inside(path string) string {
	name, err := filepath.Rel(s.Work, path)
	if err != nil {
		return path
	}
	return name
}

// leaveBehind says what no tool needs of a repository: its history, what earlier
// runs left, the sealed credentials, and the environments that are not at work.
func (s *Run) leaveBehind(path string, entry fs.DirEntry) bool {
	switch entry.Name() {
	case ".git", ".terraform", ".slipway", ".env", "node_modules":
		return true
	}
	return path == "credentials" || strings.Contains(entry.Name(), ".tfstate") || s.otherEnvironment(path)
}

// otherEnvironment is true for the folder of another environment than the one at
// work, so that no change of that one can matter here. A folder without
// environment.yaml is shared code.
func (s *Run) otherEnvironment(path string) bool {
	if s.Environment == nil || filepath.Dir(path) != "environments" || filepath.Base(path) == s.Env {
		return false
	}
	_, err := os.Stat(filepath.Join(s.Repository, path, "environment.yaml"))
	return err == nil
}

// copyRepository copies the repository into the work folder, because tofu writes
// beside its code. It takes the digest of all that it copies.
func (s *Run) copyRepository() error {
	from, to := s.Repository, s.Path("repository")
	all := sha256.New()
	note := func(kind, name, content string) {
		fmt.Fprintf(all, "%s %q %s\n", kind, filepath.ToSlash(name), content)
	}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case name != "." && s.leaveBehind(name, entry):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			note("link", name, strconv.Quote(link))
			return os.Symlink(link, target)
		case entry.Type().IsRegular():
			mode, digest, err := copyFile(path, target)
			note(mode.String(), name, digest)
			return err
		}
		return nil // a socket or the like
	})
	if err != nil {
		return s.Full(err)
	}
	if s.Environment != nil {
		files := append(slices.Clone(s.Environment.CredentialFiles), s.Environment.PlanCredentialFiles...)
		for _, name := range sorted(files) {
			data, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				return err
			}
			note("sealed", name, manifest.Digest(data))
		}
	}
	if err := confine.Give(to); err != nil {
		return err
	}
	s.Inputs = "sha256:" + hex.EncodeToString(all.Sum(nil))
	return nil
}

// Full explains the error of a full work folder.
func (s *Run) Full(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the work folder %s is full: nothing was changed; give the engine more memory, or keep large files out of the repository: %w", s.Work, err)
	}
	return err
}

// copyFile copies content and the right to execute, and returns what it copied.
func copyFile(from, to string) (mode fs.FileMode, digest string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, "", err
	}
	mode = 0o600 | info.Mode().Perm()&0o100
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return 0, "", err
	}
	content := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, content), in)
	return mode, hex.EncodeToString(content.Sum(nil)), errors.Join(err, out.Close())
}
