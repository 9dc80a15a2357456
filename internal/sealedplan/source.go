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

// A Plan is one part of a sealed plan, verified.
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

// Found are the verified parts of a plan.
type Found struct {
	Layers  []Plan
	Cluster Plan // zero if the plan has no part for a cluster
	Digest  string
}

// Find returns the verified plans of the chosen layers, and of the cluster if it is not nil. It refuses
// plans with a digest other than Digest.
func (s *Source) Find(ctx context.Context, r *run.Run, layers []*layer.Layer, c *Cluster) (found Found, err error) {
	if s.Programs == nil {
		s.Programs = digestPrograms()
	}
	var parts []manifest.Part
	var first Plan
	for _, l := range layers {
		p, err := s.verify(ctx, l)
		if err != nil {
			return found, err
		}
		found.Layers = append(found.Layers, p)
		parts = append(parts, manifest.Part{Layer: l.Name, Data: p.data})
		first = found.Layers[0]
	}
	if c != nil {
		if found.Cluster, err = s.verifyCluster(ctx, *c); err != nil {
			return found, err
		}
		parts = append(parts, manifest.Part{Layer: found.Cluster.Layer, Data: found.Cluster.data})
		if first.RunID == "" {
			first = found.Cluster
		}
	}
	found.Digest = manifest.PlanDigest(r.Env, parts)
	if s.Digest != "" && s.Digest != found.Digest {
		return found, s.Refuse(r, "the plan of %s, made by run %s at %s, has the digest %s, not %s", r.Env, first.RunID, first.Created.Format("2006-01-02 15:04:05"), found.Digest, s.Digest)
	}
	return found, nil
}

// verify finds the plan of a layer and compares everything to which it is bound. The refusal names
// the first difference. Only the lock file is checked later.
func (s *Source) verify(ctx context.Context, l *layer.Layer) (Plan, error) {
	return s.verifyPart(ctx, ofLayer(l), func(m manifest.Manifest) (now manifest.Bindings, err error) {
		if l.Stamp, err = l.StateStamp(ctx, l.Key); err != nil {
			return now, err
		}
		now, err = bind(ctx, l, s.Programs)
		now.LockFile = m.Bindings.LockFile
		return now, err
	})
}

// verifyCluster is verify for the cluster.
func (s *Source) verifyCluster(ctx context.Context, c Cluster) (Plan, error) {
	return s.verifyPart(ctx, c.part(), func(manifest.Manifest) (manifest.Bindings, error) { return c.bind(ctx, s.Programs) })
}

// verifyPart finds the plan of a part. bind returns what it would be bound to now.
func (s *Source) verifyPart(ctx context.Context, of part, bind func(manifest.Manifest) (manifest.Bindings, error)) (Plan, error) {
	read, where := s.files(ctx, of)
	data, err := read(manifestName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, state.ErrNone) {
		return Plan{}, s.Refuse(of.Run, "there is no plan of %s in %s", of.name, where)
	}
	if err != nil {
		return Plan{}, err
	}
	m, err := manifest.Open(data, of.Credentials[state.Passphrase], of.Credentials[state.PreviousPassphrase])
	if err != nil {
		return Plan{}, s.Refuse(of.Run, "the plan of %s: %v", of.name, err)
	}
	p := Plan{Manifest: m, data: data}
	switch {
	case m.Environment != of.Env:
		return p, s.Refuse(of.Run, "the plan is for environment %s", m.Environment)
	case m.Layer != of.name:
		return p, s.Refuse(of.Run, "the plan is for layer %s, not %s", m.Layer, of.name)
	case !time.Now().Before(m.Expires):
		return p, s.Refuse(of.Run, "the plan of %s expired at %s", of.name, m.Expires.Format(time.RFC3339))
	}
	if m.After == "" {
		p.sealed, err = read(planName)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, state.ErrNone) {
			return p, err
		}
		if manifest.Digest(p.sealed) != m.Plan {
			return p, s.Refuse(of.Run, "the plan of %s does not match its manifest", of.name)
		}
	}
	if err := s.refuseSpent(ctx, of, m); err != nil {
		return p, err
	}
	now, err := bind(m)
	if err != nil {
		return p, err
	}
	if name := m.Bindings.Differs(now); name != "" {
		return p, s.Refuse(of.Run, "since the plan of %s was made, %s has changed", of.name, name)
	}
	return p, nil
}

// files returns a reader for the files of a sealed part: from a folder, or from the bucket,
// where they are stored under the digest of the current files.
func (s *Source) files(ctx context.Context, p part) (read func(name string) ([]byte, error), where string) {
	if s.Folder != "" {
		return func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(s.Folder, p.folder(), name))
		}, "the folder given with --plan"
	}
	return func(name string) ([]byte, error) { return p.Store.Read(ctx, p.kept()+name) }, p.Store.Name() + " for exactly these files"
}

// refuseSpent refuses a plan that was already applied or was replaced by a newer plan of the same
// files.
func (s *Source) refuseSpent(ctx context.Context, p part, m manifest.Manifest) error {
	if p.Store == nil {
		return nil // only the state's serial protects against it
	}
	by, err := p.Store.Read(ctx, p.claimKey(m))
	if err == nil {
		return s.Refuse(p.Run, "an apply of the plan of %s was already started by run %q", p.name, by)
	}
	if !errors.Is(err, state.ErrNone) {
		return err
	}
	data, err := p.Store.Read(ctx, p.plans()+strings.TrimPrefix(m.Bindings.Inputs, "sha256:")+"/"+manifestName)
	if errors.Is(err, state.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	// An unreadable plan is refused when it is used itself.
	other, err := manifest.Open(data, p.Credentials[state.Passphrase], p.Credentials[state.PreviousPassphrase])
	if err == nil && other.RunID != m.RunID && other.Created.After(m.Created) {
		return s.Refuse(p.Run, "the plan of %s was replaced by the plan of run %s", p.name, other.RunID)
	}
	return nil
}

// Claim ensures that the plan is applied only once: it refuses a plan that another run has claimed.
// The returned function releases the claim, for a run that has not started.
func (s *Source) Claim(ctx context.Context, l *layer.Layer, p Plan) (release func(context.Context) error, err error) {
	if l.Store == nil { // the state's own serial must suffice
		return func(context.Context) error { return nil }, nil
	}
	key := ofLayer(l).claimKey(p.Manifest)
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
	data, err := s.Open(l.Run, p)
	if err != nil {
		return err
	}
	if err := workspace.Folder(l.Run).Write(workspace.Inside(l.Run, l.PlanFile()), data); err != nil {
		return workspace.Full(l.Run, err)
	}
	return nil
}

// Open decrypts a plan.
func (s *Source) Open(r *run.Run, p Plan) ([]byte, error) {
	data, err := r.Identity.Open(p.sealed)
	if err != nil {
		return nil, s.Refuse(r, "the plan of %s cannot be decrypted: %v", p.Layer, err)
	}
	return data, nil
}
