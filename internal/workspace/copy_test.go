package workspace_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"slipway/internal/confine"
	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/workspace"
)

// A clone is a session that copies a repository of these files.
type clone struct {
	*run.Run
	t *testing.T
}

func newClone(t *testing.T) *clone {
	t.Helper()
	c := &clone{t: t, Run: &run.Run{
		Options:     run.Options{Env: "test", Repository: t.TempDir(), Work: t.TempDir()},
		Environment: &environment.Environment{Name: "test", CredentialFiles: []string{"credentials/test.enc.env"}, PlanCredentialFiles: []string{"credentials/plan.enc.env"}},
	}}
	for _, name := range []string{
		"environments/test/main.tf", "environments/test/environment.yaml", "environments/shared/vars.tf", "modules/net/main.tf",
		"credentials/test.enc.env", "credentials/plan.enc.env", "credentials/other.enc.env",
	} {
		c.write(name, "text of "+name)
	}
	return c
}

func (c *clone) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.Repository, name)
	must.Do(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(c.t, os.WriteFile(path, []byte(text), 0o644))
}

// copied makes the copy, and returns its digest and its files.
func (c *clone) copied() (digest string, files []string) {
	c.t.Helper()
	to := c.Path("repository")
	must.Do(c.t, os.RemoveAll(to))
	inputs, err := workspace.CopyRepository(c.Run)
	must.Do(c.t, err)
	must.Do(c.t, filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(to, path)
			files = append(files, name)
		}
		return err
	}))
	return inputs, files
}

// The digest does not depend on the order in which environment.yaml lists its credentials.
func TestDigestOfCredentials(t *testing.T) {
	c := newClone(t)
	want, _ := c.copied()
	e := c.Environment
	e.CredentialFiles, e.PlanCredentialFiles = []string{"credentials/plan.enc.env"}, []string{"credentials/test.enc.env", "credentials/plan.enc.env"}
	if got, _ := c.copied(); got != want {
		t.Errorf("%s and %s", got, want)
	}
}

// The tools get the code, but not the history, leftovers, credentials or other environments.
func TestCopyLeavesBehind(t *testing.T) {
	c := newClone(t)
	_, want := c.copied()
	if list := strings.Join(want, " "); list != "environments/shared/vars.tf environments/test/environment.yaml environments/test/main.tf modules/net/main.tf" {
		t.Errorf("it has %s", list)
	}
	for _, name := range []string{
		".git/config", "modules/net/.terraform/x", ".slipway/plan", ".env", "modules/node_modules/x", "environments/test/terraform.tfstate",
		"environments/test/x.tfstate.backup", "environments/prod/environment.yaml", "environments/prod/main.tf", "credentials/deep/x",
	} {
		c.write(name, "text")
	}
	if _, files := c.copied(); !slices.Equal(files, want) {
		t.Errorf("it has %q", files)
	}
	must.Do(t, syscall.Mkfifo(filepath.Join(c.Repository, "pipe"), 0o600))
	if _, files := c.copied(); !slices.Equal(files, want) {
		t.Errorf("it has %q", files)
	}
	data, err := os.ReadFile(c.Path("repository", "modules/net/main.tf"))
	if err != nil || string(data) != "text of modules/net/main.tf" {
		t.Errorf("%q, %v", data, err)
	}
	// Before the environment is known, none is another.
	c.Environment = nil
	if _, files := c.copied(); !slices.Contains(files, "environments/prod/main.tf") {
		t.Errorf("it has %q", files)
	}
}

// Only below environments is a folder with an environment.yaml another environment, and the
// name of the repository's own folder says nothing.
func TestCopyKeeps(t *testing.T) {
	c := newClone(t)
	for _, name := range []string{"modules/prod/environment.yaml", "environments/test/prod/environment.yaml"} {
		c.write(name, "text")
		if _, files := c.copied(); !slices.Contains(files, name) {
			t.Errorf("%s is left behind: %q", name, files)
		}
	}
	whole := filepath.Join(t.TempDir(), ".slipway")
	must.Do(t, os.Rename(c.Repository, whole))
	c.Repository = whole
	if _, files := c.copied(); len(files) == 0 {
		t.Error("in a folder of that name, nothing is copied")
	}
}

// The tools have folders of their own, and where they are another user, that one cannot read
// the repository and the key.
func TestWorkspace(t *testing.T) {
	c := newClone(t)
	stderr := &bytes.Buffer{}
	c.Stderr, c.Mask = stderr, run.NewMask()
	c.IdentityFile = filepath.Join(t.TempDir(), "keys.txt")
	must.Do(t, os.WriteFile(c.IdentityFile, []byte("key"), 0o644))
	must.Do(t, workspace.Prepare(c.Run))
	for _, name := range []string{"home", "tmp", "data", "plans", "repository/modules/net/main.tf"} {
		if _, err := os.Stat(c.Path(name)); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{c.Repository, c.IdentityFile} {
		info, err := os.Stat(path)
		must.Do(t, err)
		if open := info.Mode().Perm()&0o077 != 0; open == confine.Switches() {
			t.Errorf("%s is %s", path, info.Mode())
		}
	}
	if noted := strings.Contains(stderr.String(), "note: this is not root"); noted == confine.Switches() {
		t.Errorf("it says %q", stderr)
	}
	if c.Inputs == "" {
		t.Error("what was copied has no digest")
	}
}

// What cannot be made ready is refused, and nothing is copied.
func TestWorkspaceFails(t *testing.T) {
	for name, change := range map[string]func(c *clone){
		"a proxy's password in the clear": func(c *clone) { c.Credentials = map[string]string{"HTTPS_PROXY": "http://me:word@proxy.example.org"} },
		"no work folder":                  func(c *clone) { c.Work = filepath.Join(c.Repository, "environments/test/main.tf") },
		"a file for a folder":             func(c *clone) { must.Do(t, os.WriteFile(c.Path("plans"), nil, 0o600)) },
	} {
		c := newClone(t)
		c.Stderr, c.Mask = &bytes.Buffer{}, run.NewMask()
		change(c)
		if err := workspace.Prepare(c.Run); err == nil {
			t.Errorf("%s: it is ready", name)
		}
		if _, err := os.Stat(c.Path("repository")); err == nil {
			t.Errorf("%s: there is a copy", name)
		}
	}
}

// The digest is of all that can matter: contents, names, the right to execute, what links
// point to, and the sealed credentials of the environment. It is not of what is left behind.
func TestCopyDigest(t *testing.T) {
	for name, change := range map[string]struct {
		do      func(c *clone)
		matters bool
	}{
		"nothing":    {func(*clone) {}, false},
		"a content":  {func(c *clone) { c.write("modules/net/main.tf", "other") }, true},
		"a new file": {func(c *clone) { c.write("modules/net/more.tf", "") }, true},
		"a name": {func(c *clone) {
			must.Do(c.t, os.Rename(filepath.Join(c.Repository, "modules/net"), filepath.Join(c.Repository, "modules/nat")))
		}, true},
		"the right to execute": {func(c *clone) { must.Do(c.t, os.Chmod(filepath.Join(c.Repository, "modules/net/main.tf"), 0o755)) }, true},
		"who may read it":      {func(c *clone) { must.Do(c.t, os.Chmod(filepath.Join(c.Repository, "modules/net/main.tf"), 0o600)) }, false},
		"the target of a link": {func(c *clone) {
			must.Do(c.t, os.Remove(filepath.Join(c.Repository, "link")))
			c.link("modules/net/main.tf")
		}, true},
		"own credentials":        {func(c *clone) { c.write("credentials/test.enc.env", "other") }, true},
		"credentials to plan":    {func(c *clone) { c.write("credentials/plan.enc.env", "other") }, true},
		"credentials of another": {func(c *clone) { c.write("credentials/other.enc.env", "other") }, false},
		"another environment":    {func(c *clone) { c.write("environments/prod/environment.yaml", "x") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClone(t)
			c.link("environments/test/main.tf")
			before, _ := c.copied()
			change.do(c)
			after, _ := c.copied()
			if (before != after) != change.matters || !strings.HasPrefix(after, "sha256:") || len(after) != 71 {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
}

func (c *clone) link(to string) {
	c.t.Helper()
	must.Do(c.t, os.Symlink(to, filepath.Join(c.Repository, "link")))
}

// A program stays one in the copy, and a link a link.
func TestCopyKinds(t *testing.T) {
	c := newClone(t)
	c.link("modules/net/main.tf")
	c.write("run", "x")
	must.Do(t, os.Chmod(filepath.Join(c.Repository, "run"), 0o755))
	c.copied()
	for name, want := range map[string]fs.FileMode{"run": 0o700, "modules/net/main.tf": 0o600} {
		info, err := os.Stat(c.Path("repository", name))
		must.Do(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s: %s", name, info.Mode())
		}
	}
	if to, err := os.Readlink(c.Path("repository", "link")); err != nil || to != "modules/net/main.tf" {
		t.Errorf("%q, %v", to, err)
	}
}

// What cannot be read is an error, and not left out.
func TestCopyFails(t *testing.T) {
	c := newClone(t)
	must.Do(t, os.Remove(filepath.Join(c.Repository, "credentials/test.enc.env")))
	if _, err := workspace.CopyRepository(c.Run); err == nil {
		t.Error("without the sealed credentials there is a digest")
	}
	c = newClone(t)
	c.Repository += "/nonexistent"
	if _, err := workspace.CopyRepository(c.Run); err == nil {
		t.Error("a repository that is not there is copied")
	}
	c = newClone(t)
	c.Work += "/nonexistent/" + strings.Repeat("x", 300)
	if _, err := workspace.CopyRepository(c.Run); err == nil {
		t.Error("to where nothing can be written, it is copied")
	}
	if err := workspace.Full(c.Run, syscall.ENOSPC); !strings.Contains(err.Error(), "is full: nothing was changed") {
		t.Errorf("got %v", err)
	}
	if err := workspace.Full(c.Run, fs.ErrInvalid); err != fs.ErrInvalid { //nolint:errorlint // the very same
		t.Errorf("got %v", err)
	}
}
