package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slipway/internal/manifest"
	"slipway/internal/refusal"
	"slipway/internal/remote"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// A reviewed is the sealed plan of one root, verified.
type reviewed struct {
	manifest.Manifest
	data   []byte // manifest.json
	sealed []byte // plan.age
}

// applyReviewed applies the plans that were sealed, and nothing else. All of them
// are verified before the first tool starts.
func (s *session) applyReviewed(ctx context.Context, roots []*root) error {
	if err := s.checkDigest(); err != nil {
		return err
	}
	plans, digest, err := s.found(ctx, roots)
	if err != nil {
		return err
	}
	if err := s.refuseOther(plans, digest); err != nil {
		return err
	}
	if err := s.refuseUnapproved(ctx, digest); err != nil {
		return err
	}
	var lost []string
	for _, p := range plans {
		lost = append(lost, p.Losses...)
	}
	if err := s.guard(lost); err != nil {
		return err
	}
	var hosts []remote.Host
	for i, r := range roots {
		p := plans[i]
		if p.After != "" {
			fmt.Fprintf(&s.report, "%s: not applied, because it could not be planned before %s was applied; next: %s\n", r.name, p.After, s.planCommand())
			s.changes = true
			continue
		}
		outputs, err := r.applySealed(ctx, p)
		if err != nil {
			return err
		}
		made, err := r.made(outputs)
		if err != nil {
			return err
		}
		hosts = append(hosts, made...)
	}
	return s.await(ctx, hosts)
}

// planCommand makes a plan that takes the place of one that is refused.
func (s *session) planCommand() string {
	command := "dagger call plan --env=" + s.Environment
	if s.Plan != "" {
		command = "dagger call plan-files --env=" + s.Environment
	}
	if s.Layer != "" {
		command += " --layer=" + s.Layer
	}
	if s.Plan != "" {
		return command + " export --path=.slipway/plan"
	}
	return command + " --keep"
}

func (s *session) refusePlan(format string, args ...any) error {
	return refusal.New(s.planCommand(), format, args...)
}

// verify finds the root's plan and holds it against all that it is bound to. It
// names the first that differs. Only the lock file is left for later.
func (r *root) verify(ctx context.Context) (reviewed, error) {
	read, where := r.planSource(ctx)
	data, err := read(manifestName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, state.ErrNone) {
		return reviewed{}, r.refusePlan("there is no plan of %s in %s", r.name, where)
	}
	if err != nil {
		return reviewed{}, err
	}
	m, err := manifest.Open(data, r.credentials[state.Passphrase], r.credentials[state.PreviousPassphrase])
	if err != nil {
		return reviewed{}, r.refusePlan("the plan of %s: %v", r.name, err)
	}
	p := reviewed{Manifest: m, data: data}
	switch {
	case m.Environment != r.Environment:
		return p, r.refusePlan("the plan is one of environment %s", m.Environment)
	case m.Layer != r.name:
		return p, r.refusePlan("the plan is one of layer %s and not of %s", m.Layer, r.name)
	case !time.Now().Before(m.Expires):
		return p, r.refusePlan("the plan of %s has expired, at %s", r.name, m.Expires.Format(time.RFC3339))
	}
	if m.After == "" {
		p.sealed, err = read(planName)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, state.ErrNone) {
			return p, err
		}
		if manifest.Digest(p.sealed) != m.Plan {
			return p, r.refusePlan("the plan of %s is not the one that its manifest was made for", r.name)
		}
	}
	if err := r.refuseSpent(ctx, m); err != nil {
		return p, err
	}
	if r.stamp, err = r.stampOf(ctx, r.key); err != nil {
		return p, err
	}
	now, err := r.bindings(ctx)
	if err != nil {
		return p, err
	}
	now.LockFile = m.Bindings.LockFile
	if name := m.Bindings.Differs(now); name != "" {
		return p, r.refusePlan("since the plan of %s was made, %s has changed", r.name, name)
	}
	return p, nil
}

// planSource reads the files of the root's sealed plan: out of a folder, or out
// of the bucket, where they lie under the digest of the files that are here now.
func (r *root) planSource(ctx context.Context) (read func(name string) ([]byte, error), where string) {
	if r.Plan != "" {
		return func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(r.Plan, "plan", r.fileName(), name))
		}, "the folder that --plan names"
	}
	return func(name string) ([]byte, error) { return r.store.Read(ctx, r.kept()+name) }, r.store.Name() + " for these very files"
}

// refuseSpent refuses a plan that was applied, or that a newer one of the same
// files has replaced.
func (r *root) refuseSpent(ctx context.Context, m manifest.Manifest) error {
	if r.store == nil {
		return nil // the state's own serial has to do
	}
	by, err := r.store.Read(ctx, r.claimKey(m))
	if err == nil {
		return r.refusePlan("the plan of %s was applied already, or begun, by run %q", r.name, by)
	}
	if !errors.Is(err, state.ErrNone) {
		return err
	}
	data, err := r.store.Read(ctx, r.keptPlans()+strings.TrimPrefix(m.Bindings.Inputs, "sha256:")+"/"+manifestName)
	if errors.Is(err, state.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	// One that cannot be read is refused where it is used itself.
	other, err := manifest.Open(data, r.credentials[state.Passphrase], r.credentials[state.PreviousPassphrase])
	if err == nil && other.RunID != m.RunID && other.Created.After(m.Created) {
		return r.refusePlan("the plan of %s was replaced by that of run %s", r.name, other.RunID)
	}
	return nil
}

// claimKey is of the object by which a plan is applied once.
func (r *root) claimKey(m manifest.Manifest) string { return r.keptPlans() + m.RunID + ".applied" }

// applySealed applies a plan that was verified.
func (r *root) applySealed(ctx context.Context, p reviewed) (tofu.Outputs, error) {
	fmt.Fprintf(&r.report, "%s: the plan of run %s, made %s\n", r.name, p.RunID, p.Created.Format(time.RFC3339))
	if err := r.refuseRuns(ctx); err != nil {
		return nil, err
	}
	if err := r.init(ctx); err != nil {
		return nil, err
	}
	if err := r.refuseLockFile(p.Manifest); err != nil {
		return nil, err
	}
	if !p.Changes {
		r.report.WriteString(r.name + ": No changes.\n")
		return r.outputs(ctx)
	}
	if err := r.unseal(p); err != nil {
		return nil, err
	}
	summary, err := r.reduced(ctx)
	if err != nil {
		return nil, err
	}
	r.show(summary)
	// What was reviewed and allowed is what the manifest says.
	if !slices.Equal(summary.Losses(), p.Losses) {
		return nil, r.refusePlan("the plan of %s loses other resources than its manifest says", r.name)
	}
	return r.applyOnce(ctx, p.Manifest)
}

// refuseLockFile refuses a plan that was made with another lock file than init has left.
func (r *root) refuseLockFile(m manifest.Manifest) error {
	lockFile, err := r.lockFileDigest()
	if err == nil && lockFile != m.Bindings.LockFile {
		err = r.refusePlan("since the plan of %s was made, the lock file of the providers has changed", r.name)
	}
	return err
}

// unseal opens a plan for tofu.
func (r *root) unseal(p reviewed) error {
	data, err := r.identity.Open(p.sealed)
	if err != nil {
		return r.refusePlan("the plan of %s cannot be opened: %v", r.name, err)
	}
	if err := r.workFolder().Write(r.inWork(r.planFile()), data); err != nil {
		return r.fullWork(err)
	}
	return nil
}

// applyOnce applies the plan that was unsealed, unless some run has begun to.
func (r *root) applyOnce(ctx context.Context, m manifest.Manifest) (tofu.Outputs, error) {
	if r.store == nil {
		return r.applyPlan(ctx)
	}
	by, err := r.store.Claim(ctx, r.claimKey(m), []byte(r.RunID))
	if err != nil {
		return nil, err
	}
	if by != nil {
		return nil, r.refusePlan("the plan of %s is being applied by run %q", r.name, by)
	}
	outputs, err := r.applyPlan(ctx)
	var held *refusal.Error
	if errors.As(err, &held) {
		// Another held the lock, and nothing was begun.
		err = errors.Join(err, r.store.Remove(context.WithoutCancel(ctx), r.claimKey(m)))
	}
	return outputs, err
}
