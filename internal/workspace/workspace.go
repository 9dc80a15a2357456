// Package workspace prepares the folder in which the tools work: a tmpfs with a copy of the
// repository, without secrets.
package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"slipway/internal/confine"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

// Prepare prepares the work folder for the tools: their own folders and a copy of the repository.
// It denies them access to the repository itself, with its encrypted credentials, and to the age
// identity. It sets the digest of the run's inputs.
func Prepare(r *run.Run) (err error) {
	if !confine.Switches() {
		r.Say("note: not running as root, so the tools run as the same user and can read the age identity and the encrypted credentials")
	}
	if err := run.RefuseProxies(func(name string) string { return r.Credentials[name] }); err != nil {
		return err
	}
	for _, path := range []string{r.Repository, r.IdentityFile} {
		if err := confine.Close(path); err != nil {
			return err
		}
	}
	if err := Folder(r).Open(); err != nil {
		return err
	}
	if err := Folder(r).Make("home", "tmp", "data", "plans"); err != nil {
		return Full(r, err)
	}
	r.Inputs, err = copyRepository(r)
	return err
}

// Folder returns the folder in which the tools work.
func Folder(r *run.Run) confine.Folder { return confine.Folder(r.Work) }

// Inside returns a path in the work folder, relative to it.
func Inside(r *run.Run, path string) string {
	name, err := filepath.Rel(r.Work, path)
	if err != nil {
		return path
	}
	return name
}

// Full explains the error of a full work folder.
func Full(r *run.Run, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the work folder %s is full: nothing was changed; give the engine more memory, or keep large files out of the repository: %w", r.Work, err)
	}
	return err
}

// Bare returns a tofu runner without secrets, in a folder relative to the repository's root.
func Bare(r *run.Run, dir string, printed *tofu.Capture) tofu.Runner {
	return tofu.Runner{Dir: r.Path("repository", dir), Stderr: printed, Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.Path("home"), "TMPDIR=" + r.Path("tmp"),
		"TF_CLI_CONFIG_FILE=/dev/null", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
	}}
}
