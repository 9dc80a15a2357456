package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/pins"
	"slipway/internal/printable"
	"slipway/internal/refusal"
	"slipway/internal/tofu"
)

const lockFileName = ".terraform.lock.hcl"

// lockedPlatforms are those on which tofu is run: in containers, and by hand.
var lockedPlatforms = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}

// lockProviders writes the lock file of every root module, or of those of one
// environment. It needs no credentials and no state.
func (s *Run) lockProviders(ctx context.Context) error {
	own, err := s.BuildsProviders()
	if err != nil {
		return err
	}
	if own {
		return refusal.New("dagger call -y lock-providers, on a machine without PINS in .env, and commit what it writes",
			"this machine builds the providers from source (PROVIDERS in its pins file): their checksums would fit no other machine")
	}
	names := []string{s.Env}
	if s.Env == "" {
		if names, err = environment.List(os.DirFS(s.Repository)); err != nil {
			return err
		}
	}
	if err := s.Prepare(); err != nil {
		return err
	}
	for _, name := range names {
		e, err := environment.Load(os.DirFS(s.Repository), name)
		if err != nil {
			return err
		}
		for _, layer := range e.Layers {
			if err := s.lockRoot(ctx, e.Dir(layer)); err != nil {
				return err
			}
		}
	}
	return nil
}

// BuildsProviders is true on a machine that builds the providers itself, from source. Their
// checksums are nobody else's.
func (s *Run) BuildsProviders() (bool, error) {
	f, err := os.Open(s.PinsFile)
	if errors.Is(err, fs.ErrNotExist) || s.PinsFile == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	list, err := pins.Read(f)
	if err != nil {
		return false, fmt.Errorf("%s: %w", s.PinsFile, err)
	}
	return slices.ContainsFunc(list, func(p pins.Pin) bool { return p.Name == "PROVIDERS" }), nil
}

// lockRoot makes the lock file of one root module anew: tofu would keep what the code
// no longer asks for, and refuse another version.
func (s *Run) lockRoot(ctx context.Context, dir string) error {
	var noise ToolOutput
	tool := s.Bare(s.Path("repository", dir), &noise)
	tool.Env = append(tool.Env, s.wayOut()...)
	if code, err := tool.Run(ctx, &noise, tofu.GetArgs()...); err != nil || code != tofu.ExitOK {
		fmt.Fprintf(&s.Complaints, "%s: %s\n", dir, strings.TrimSpace(plain(noise.String())))
		return errors.Join(fmt.Errorf("tofu get failed in %s", dir), err)
	}
	file := filepath.Join(dir, lockFileName)
	if err := os.Remove(s.Path("repository", file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	diagnostics, err := runLock(ctx, tool)
	if err != nil {
		return err
	}
	if len(diagnostics) > 0 {
		return s.refuseLock(dir, diagnostics)
	}
	return s.compareLock(file)
}

// wayOut is how this machine reaches the network. Other stages take it from the
// credentials; here there are none. The password of a proxy may be in its address.
func (s *Run) wayOut() []string {
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
			if strings.Contains(value, "@") {
				s.Add(value)
			}
		}
	}
	return env
}

// runLock runs `tofu providers lock` and returns what it failed of.
func runLock(ctx context.Context, tool tofu.Runner) ([]tofu.Diagnostic, error) {
	var failures []tofu.Diagnostic
	code, err := tool.Events(ctx, func(e tofu.Event) {
		if e.Type == tofu.DiagnosticMsg && e.Diagnostic.Severity == "error" {
			failures = append(failures, e.Diagnostic)
		}
	}, func([]byte) {}, tofu.LockArgs(lockedPlatforms...)...)
	if err == nil && code != tofu.ExitOK && len(failures) == 0 {
		err = errors.New("tofu providers lock failed and does not say why")
	}
	return failures, err
}

// What tofu says of a provider: it has no other sign for them.
var (
	noBuild      = regexp.MustCompile(`provider (\S+) (\S+) is not available for ([a-z0-9]+_[a-z0-9]+)`)
	anotherBuild = regexp.MustCompile(`package for (\S+) (\S+) doesn't match any of the checksums previously recorded`)
	notInLock    = regexp.MustCompile(`lock file is read-only|locked provider \S+ \S+ does not match configured version constraint`)
)

// refuseLock explains why there is no lock file.
func (s *Run) refuseLock(dir string, diagnostics []tofu.Diagnostic) error {
	for _, d := range diagnostics {
		if m := noBuild.FindStringSubmatch(d.Detail); m != nil {
			var others []string
			for _, platform := range lockedPlatforms {
				if platform != m[3] {
					others = append(others, "-platform="+platform)
				}
			}
			return refusal.New(fmt.Sprintf("take a version that has one, or lock the other platforms by hand: tofu -chdir=%s get && tofu -chdir=%s providers lock %s", dir, dir, strings.Join(others, " ")),
				"%s: the registry has no build of provider %s %s for %s", dir, m[1], m[2], m[3])
		}
	}
	for _, d := range diagnostics {
		fmt.Fprintf(&s.Complaints, "%s: %s\n", dir, explain(d))
	}
	return fmt.Errorf("tofu providers lock failed in %s", dir)
}

// compareLock reports on a lock file that was made, and hands it back if it is new.
func (s *Run) compareLock(file string) error {
	made, err := s.Folder().Read(filepath.Join("repository", file))
	if err != nil {
		return err
	}
	committed, err := os.ReadFile(filepath.Join(s.Repository, file))
	if errors.Is(err, fs.ErrNotExist) {
		if len(lockedPackages(made)) == 0 {
			fmt.Fprintf(&s.Report, "%s: not needed: there are no providers\n", file)
			return nil
		}
		err = nil
	}
	if err != nil {
		return err
	}
	if err := refuseNewBuilds(file, committed, made); err != nil {
		return err
	}
	if bytes.Equal(made, committed) {
		fmt.Fprintf(&s.Report, "%s: as it was\n", file)
		return nil
	}
	fmt.Fprintf(&s.Report, "%s: written for %s\n", file, strings.Join(lockedPlatforms, ", "))
	return s.LeaveChanged(file, made)
}

// refuseNewBuilds refuses a registry that has other packages of a version than it had
// when the lock file was made: `tofu providers lock` itself would take both.
func refuseNewBuilds(file string, committed, made []byte) error {
	before := lockedPackages(committed)
	for name, now := range lockedPackages(made) {
		for sum := range now.packages {
			if was := before[name]; was.version == now.version && len(was.packages) > 0 && !was.packages[sum] {
				return refusal.New("find out why before you take them: git log -p -- "+printable.Word(file),
					"the registry has other packages of provider %s %s than when %s was made", name, now.version, file)
			}
		}
	}
	return nil
}

// locked is a provider's entry in a lock file.
type locked struct {
	version  string
	packages map[string]bool // checksums of all that were released as this version
}

var (
	lockEntry   = regexp.MustCompile(`(?ms)^provider "([^"]+)" \{$(.*?)^\}`)
	lockVersion = regexp.MustCompile(`(?m)^ +version += "([^"]+)"`)
	lockPackage = regexp.MustCompile(`"(zh:[0-9a-f]+)"`)
)

// lockedPackages reads a lock file, whose form is always that which tofu gives it.
func lockedPackages(text []byte) map[string]locked {
	entries := map[string]locked{}
	for _, entry := range lockEntry.FindAllSubmatch(text, -1) {
		l := locked{packages: map[string]bool{}}
		if m := lockVersion.FindSubmatch(entry[2]); m != nil {
			l.version = string(m[1])
		}
		for _, m := range lockPackage.FindAllSubmatch(entry[2], -1) {
			l.packages[string(m[1])] = true
		}
		entries[string(entry[1])] = l
	}
	return entries
}

// refuseProvider explains a failure of init that is due to the lock file. Said is what tofu
// printed, in lines of a terminal's width.
func (r *Layer) refuseProvider(said string, failure error) error {
	said = strings.Join(strings.FieldsFunc(said, func(c rune) bool { return strings.ContainsRune(" \t\n│╷╵", c) }), " ")
	if own, err := r.BuildsProviders(); err == nil && own && anotherBuild.MatchString(said) {
		return refusal.New("take a machine that reaches the registry, one without PINS in .env",
			"the lock file of %s has the checksums of the registry's providers, and this machine builds its own from source", r.Name)
	}
	// It says so where the registry itself has others now.
	command := "dagger call -y lock-providers --env=" + r.Env
	if m := anotherBuild.FindStringSubmatch(said); m != nil {
		return refusal.New(command, "provider %s %s is another build than the lock file of %s allows: it has none of the checksums there", m[1], m[2], r.Name)
	}
	if notInLock.MatchString(said) {
		return refusal.New(command, "the lock file of %s has not just the providers that its code asks for, in their versions", r.Name)
	}
	return failure
}
