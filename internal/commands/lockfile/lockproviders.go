// Package lockfile contains the command that writes the provider lock files.
package lockfile

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// platforms are the platforms on which tofu runs: in containers, and by hand.
var platforms = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}

// LockProviders writes the lock files of the root modules. It needs no credentials and no state.
func LockProviders() run.Command {
	var env string
	return run.Command{
		Name: "lock-providers",
		Help: "write .terraform.lock.hcl with the checksums of the providers for every platform",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&env, "env", "", "folder below environments/; empty: all")
		},
		Run: func(ctx context.Context, r *run.Run) error { return lockProviders(ctx, r, env) },
	}
}

func lockProviders(ctx context.Context, r *run.Run, env string) error {
	own, err := r.BuildsProviders()
	if err != nil {
		return err
	}
	if own {
		return fault.Refuse("dagger call -y lock-providers, on a machine without PINS in .env, and commit what it writes",
			"this machine builds the providers from source (PROVIDERS in its pins file): their checksums would not match on any other machine")
	}
	chosen, err := environment.LoadChosen(os.DirFS(r.Repository), env)
	if err != nil {
		return err
	}
	if err := workspace.Prepare(r); err != nil {
		return err
	}
	for _, e := range chosen {
		for _, layer := range e.Layers {
			if err := lockModule(ctx, r, e.Dir(layer)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockModule creates the lock file of one root module from scratch: tofu would keep providers that
// the code no longer requires, and refuse a different version.
func lockModule(ctx context.Context, r *run.Run, dir string) error {
	var printed tofu.Capture
	tool := workspace.Bare(r, dir, &printed)
	tool.Env = append(tool.Env, networkVariables(r.Mask)...)
	if code, err := tool.Run(ctx, &printed, tofu.GetArgs()...); err != nil || code != tofu.ExitOK {
		fmt.Fprintf(&r.Complaints, "%s: %s\n", dir, strings.TrimSpace(printable.Terminal(printed.String())))
		return errors.Join(fmt.Errorf("tofu get failed in %s", dir), err)
	}
	file := filepath.Join(dir, tofu.LockFile)
	if err := os.Remove(r.Path("repository", file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	diagnostics, err := runLock(ctx, tool)
	if err != nil {
		return err
	}
	if len(diagnostics) > 0 {
		return refuseLock(r, dir, diagnostics)
	}
	return compareLock(r, file)
}

// networkVariables returns the variables with which this machine reaches the network. Other
// commands take them from the credentials; here there are none. A proxy's URL may contain a
// password.
func networkVariables(mask *run.Mask) []string {
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
			if strings.Contains(value, "@") {
				mask.Add(value)
			}
		}
	}
	return env
}

// runLock runs `tofu providers lock` and returns its errors.
func runLock(ctx context.Context, tool tofu.Runner) ([]tofu.Diagnostic, error) {
	var failures []tofu.Diagnostic
	code, err := tool.Events(ctx, func(e tofu.Event) {
		if e.Type == tofu.DiagnosticMsg && e.Diagnostic.Severity == "error" {
			failures = append(failures, e.Diagnostic)
		}
	}, func([]byte) {}, tofu.LockArgs(platforms...)...)
	if err == nil && code != tofu.ExitOK && len(failures) == 0 {
		err = errors.New("tofu providers lock failed without giving a reason")
	}
	return failures, err
}

// noBuild matches tofu's message that a provider has no build for a platform. It is the only sign
// of that.
var noBuild = regexp.MustCompile(`provider (\S+) (\S+) is not available for ([a-z0-9]+_[a-z0-9]+)`)

// refuseLock explains why there is no lock file.
func refuseLock(r *run.Run, dir string, diagnostics []tofu.Diagnostic) error {
	for _, d := range diagnostics {
		if m := noBuild.FindStringSubmatch(d.Detail); m != nil {
			var others []string
			for _, platform := range platforms {
				if platform != m[3] {
					others = append(others, "-platform="+platform)
				}
			}
			return fault.Refuse(fmt.Sprintf("choose a version that has one, or lock the other platforms by hand: tofu -chdir=%s get && tofu -chdir=%s providers lock %s", dir, dir, strings.Join(others, " ")),
				"%s: the registry has no build of provider %s %s for %s", dir, m[1], m[2], m[3])
		}
	}
	for _, d := range diagnostics {
		fmt.Fprintf(&r.Complaints, "%s: %s\n", dir, tofu.Explain(d))
	}
	return fmt.Errorf("tofu providers lock failed in %s", dir)
}

// compareLock reports on a new lock file, and returns it if it differs from the old one.
func compareLock(r *run.Run, file string) error {
	made, err := workspace.Folder(r).Read(filepath.Join("repository", file))
	if err != nil {
		return err
	}
	now, err := tofu.ReadLockFile(made)
	if err != nil {
		return err
	}
	committed, err := os.ReadFile(filepath.Join(r.Repository, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil && len(now) == 0 {
		fmt.Fprintf(&r.Report, "%s: not needed: there are no providers\n", file)
		return nil
	}
	before, err := tofu.ReadLockFile(committed)
	if err != nil {
		return fault.Refuse("git log -p -- "+printable.Word(file), "%s: %v", file, err)
	}
	if err := refuseNewBuilds(file, before, now); err != nil {
		return err
	}
	if bytes.Equal(made, committed) {
		fmt.Fprintf(&r.Report, "%s: unchanged\n", file)
		return nil
	}
	fmt.Fprintf(&r.Report, "%s: written for %s\n", file, strings.Join(platforms, ", "))
	return r.LeaveChanged(file, made)
}

// refuseNewBuilds refuses a registry whose packages for a version differ from those when the lock
// file was written. `tofu providers lock` itself would accept both.
func refuseNewBuilds(file string, before, now map[string]tofu.LockedProvider) error {
	for name, provider := range now {
		was := before[name]
		if was.Version != provider.Version || len(was.Packages) == 0 {
			continue
		}
		for sum := range provider.Packages {
			if !was.Packages[sum] {
				return fault.Refuse("find out why before you accept them: git log -p -- "+printable.Word(file),
					"the registry's packages of provider %s %s have changed since %s was written", name, provider.Version, file)
			}
		}
	}
	return nil
}
