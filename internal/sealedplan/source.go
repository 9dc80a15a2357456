package sealedplan

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"slipway/internal/fault"
	"slipway/internal/layer"
	"slipway/internal/manifest"
	"slipway/internal/plan"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/workspace"
)

// A Source is where sealed plans come from.
type Source struct {
	Folder string // results of a plan; empty: the plans stored in the state's bucket
	Digest string // digest of the expected plan; empty: any

	Programs func() (map[string]string, error) // digests of the programs; nil: those of the runner and tofu
}

// A Plan is the sealed plan of one layer, verified.
type Plan struct {
	manifest.Manifest
	data   []byte // manifest.json
	sealed []byte // plan.age
}

// Made returns when the plan was made.
func (p Plan) Made() string { return p.Created.Format(time.RFC3339) }

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// CheckDigest refuses what cannot be the digest of a plan.
func (s *Source) CheckDigest(r *run.Run) error {
	if s.Digest != "" && !digestPattern.MatchString(s.Digest) {
		return fault.Refuse("dagger call plan --env="+r.Env+" --keep   # shows it", "--digest is %q, which is not the digest of a plan", s.Digest)
	}
	return nil
}

// PlanCommand returns the command that makes a new plan in place of a refused one.
func (s *Source) PlanCommand(r *run.Run) string {
	command := "dagger call plan --env=" + r.Env
	if s.Folder != "" {
		command = "dagger call plan-files --env=" + r.Env
	}
	if r.OnlyLayer != "" {
		command += " --layer=" + r.OnlyLayer
	}
	if s.Folder != "" {
		return command + " export --path=.slipway/plan"
	}
	return command + " --keep"
}

// Options returns the current command's --layer and --plan, for a hint.
func (s *Source) Options(r *run.Run) string {
	option := ""
	if r.OnlyLayer != "" {
		option = " --layer=" + r.OnlyLayer
	}
	if s.Folder != "" {
		option += " --plan=.slipway/plan"
	}
	return option
}

// Refuse refuses a plan. The hint makes another.
func (s *Source) Refuse(r *run.Run, format string, args ...any) error {
	return fault.Refuse(s.PlanCommand(r), format, args...)
}

// Find returns the verified plans of the chosen layers, and their digest. It refuses plans with a
// digest other than Digest.
func (s *Source) Find(ctx context.Context, r *run.Run, layers []*layer.Layer) (plans []Plan, digest string, err error) {
	if s.Programs == nil {
		s.Programs = digestPrograms()
	}
	var parts []manifest.Part
	for _, l := range layers {
		p, err := s.verify(ctx, l)
		if err != nil {
			return nil, "", err
		}
		plans = append(plans, p)
		parts = append(parts, manifest.Part{Layer: l.Name, Data: p.data})
	}
	digest = manifest.PlanDigest(r.Env, parts)
	if s.Digest != "" && s.Digest != digest {
		p := plans[0]
		return nil, "", s.Refuse(r, "the plan of %s, made by run %s at %s, has the digest %s, not %s", r.Env, p.RunID, p.Created.Format("2006-01-02 15:04:05"), digest, s.Digest)
	}
	return plans, digest, nil
}

// verify finds the plan of a layer and compares everything to which it is bound. The refusal names
// the first difference. Only the lock file is checked later.
func (s *Source) verify(ctx context.Context, l *layer.Layer) (Plan, error) {
	read, where := s.files(ctx, l)
	data, err := read(manifestName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, state.ErrNone) {
		return Plan{}, s.Refuse(l.Run, "there is no plan of %s in %s", l.Name, where)
	}
	if err != nil {
		return Plan{}, err
	}
	m, err := manifest.Open(data, l.Credentials[state.Passphrase], l.Credentials[state.PreviousPassphrase])
	if err != nil {
		return Plan{}, s.Refuse(l.Run, "the plan of %s: %v", l.Name, err)
	}
	p := Plan{Manifest: m, data: data}
	switch {
	case m.Environment != l.Env:
		return p, s.Refuse(l.Run, "the plan is for environment %s", m.Environment)
	case m.Layer != l.Name:
		return p, s.Refuse(l.Run, "the plan is for layer %s, not %s", m.Layer, l.Name)
	case !time.Now().Before(m.Expires):
		return p, s.Refuse(l.Run, "the plan of %s expired at %s", l.Name, m.Expires.Format(time.RFC3339))
	}
	if m.After == "" {
		p.sealed, err = read(planName)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, state.ErrNone) {
			return p, err
		}
		if manifest.Digest(p.sealed) != m.Plan {
			return p, s.Refuse(l.Run, "the plan of %s does not match its manifest", l.Name)
		}
	}
	if err := s.refuseSpent(ctx, l, m); err != nil {
		return p, err
	}
	if l.Stamp, err = l.StateStamp(ctx, l.Key); err != nil {
		return p, err
	}
	now, err := bind(ctx, l, s.Programs)
	if err != nil {
		return p, err
	}
	now.LockFile = m.Bindings.LockFile
	if name := m.Bindings.Differs(now); name != "" {
		return p, s.Refuse(l.Run, "since the plan of %s was made, %s has changed", l.Name, name)
	}
	return p, nil
}

// files returns a reader for the files of a layer's sealed plan: from a folder, or from the bucket,
// where they are stored under the digest of the current files.
func (s *Source) files(ctx context.Context, l *layer.Layer) (read func(name string) ([]byte, error), where string) {
	if s.Folder != "" {
		return func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(s.Folder, folderOf(l), name))
		}, "the folder given with --plan"
	}
	return func(name string) ([]byte, error) { return l.Store.Read(ctx, kept(l)+name) }, l.Store.Name() + " for exactly these files"
}

// refuseSpent refuses a plan that was already applied or was replaced by a newer plan of the same
// files.
func (s *Source) refuseSpent(ctx context.Context, l *layer.Layer, m manifest.Manifest) error {
	if l.Store == nil {
		return nil // only the state's serial protects against it
	}
	by, err := l.Store.Read(ctx, claimKey(l, m))
	if err == nil {
		return s.Refuse(l.Run, "an apply of the plan of %s was already started by run %q", l.Name, by)
	}
	if !errors.Is(err, state.ErrNone) {
		return err
	}
	data, err := l.Store.Read(ctx, keptPlans(l)+strings.TrimPrefix(m.Bindings.Inputs, "sha256:")+"/"+manifestName)
	if errors.Is(err, state.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	// An unreadable plan is refused when it is used itself.
	other, err := manifest.Open(data, l.Credentials[state.Passphrase], l.Credentials[state.PreviousPassphrase])
	if err == nil && other.RunID != m.RunID && other.Created.After(m.Created) {
		return s.Refuse(l.Run, "the plan of %s was replaced by the plan of run %s", l.Name, other.RunID)
	}
	return nil
}

// claimKey returns the key of the object that ensures that a plan is applied only once.
func claimKey(l *layer.Layer, m manifest.Manifest) string { return keptPlans(l) + m.RunID + ".applied" }

// Claim ensures that the plan is applied only once: it refuses a plan that another run has claimed.
// The returned function releases the claim, for a run that has not started.
func (s *Source) Claim(ctx context.Context, l *layer.Layer, p Plan) (release func(context.Context) error, err error) {
	if l.Store == nil { // the state's own serial must suffice
		return func(context.Context) error { return nil }, nil
	}
	key := claimKey(l, p.Manifest)
	by, err := l.Store.Claim(ctx, key, []byte(l.ID))
	if err != nil {
		return nil, err
	}
	if by != nil {
		return nil, s.Refuse(l.Run, "the plan of %s is being applied by run %q", l.Name, by)
	}
	return func(ctx context.Context) error { return l.Store.Remove(ctx, key) }, nil
}

// RefuseLockFile refuses a plan that was made with a different lock file from the one that init
// left.
func (s *Source) RefuseLockFile(l *layer.Layer, p Plan) error {
	lockFile, err := lockFileDigest(l)
	if err == nil && lockFile != p.Bindings.LockFile {
		err = s.Refuse(l.Run, "since the plan of %s was made, the provider lock file has changed", l.Name)
	}
	return err
}

// RefuseLosses refuses a plan whose losses differ from those in its manifest, which were reviewed
// and allowed.
func (s *Source) RefuseLosses(l *layer.Layer, p Plan, summary plan.Summary) error {
	if !slices.Equal(summary.Losses(), p.Losses) {
		return s.Refuse(l.Run, "the plan of %s deletes, replaces or forgets other resources than its manifest says", l.Name)
	}
	return nil
}

// Unseal decrypts a plan for tofu.
func (s *Source) Unseal(l *layer.Layer, p Plan) error {
	data, err := l.Identity.Open(p.sealed)
	if err != nil {
		return s.Refuse(l.Run, "the plan of %s cannot be decrypted: %v", l.Name, err)
	}
	if err := workspace.Folder(l.Run).Write(workspace.Inside(l.Run, l.PlanFile()), data); err != nil {
		return workspace.Full(l.Run, err)
	}
	return nil
}
