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

// A Sealed is the sealed plan of one root, verified.
type Sealed struct {
	manifest.Manifest
	data   []byte // manifest.json
	sealed []byte // plan.age
}

// applyReviewed applies the plans that were sealed, and nothing else. All of them
// are verified before the first tool starts.
func (s *Run) applyReviewed(ctx context.Context, roots []*Layer) error {
	if err := s.CheckDigest(); err != nil {
		return err
	}
	plans, digest, err := s.Find(ctx, roots)
	if err != nil {
		return err
	}
	if err := s.RefuseOther(plans, digest); err != nil {
		return err
	}
	if err := s.RefuseUnapproved(ctx, digest); err != nil {
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
			fmt.Fprintf(&s.Report, "%s: not applied, because it could not be planned before %s was applied; next: %s\n", r.Name, p.After, s.PlanCommand())
			s.Changes = true
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
	return s.Await(ctx, hosts)
}

// PlanCommand makes a plan that takes the place of one that is refused.
func (s *Run) PlanCommand() string {
	command := "dagger call plan --env=" + s.Env
	if s.PlanFolder != "" {
		command = "dagger call plan-files --env=" + s.Env
	}
	if s.OnlyLayer != "" {
		command += " --layer=" + s.OnlyLayer
	}
	if s.PlanFolder != "" {
		return command + " export --path=.slipway/plan"
	}
	return command + " --keep"
}

func (s *Run) Refuse(format string, args ...any) error {
	return refusal.New(s.PlanCommand(), format, args...)
}

// Verify finds the root's plan and holds it against all that it is bound to. It
// names the first that differs. Only the lock file is left for later.
func (r *Layer) Verify(ctx context.Context) (Sealed, error) {
	read, where := r.planSource(ctx)
	data, err := read(manifestName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, state.ErrNone) {
		return Sealed{}, r.Refuse("there is no plan of %s in %s", r.Name, where)
	}
	if err != nil {
		return Sealed{}, err
	}
	m, err := manifest.Open(data, r.Credentials[state.Passphrase], r.Credentials[state.PreviousPassphrase])
	if err != nil {
		return Sealed{}, r.Refuse("the plan of %s: %v", r.Name, err)
	}
	p := Sealed{Manifest: m, data: data}
	switch {
	case m.Environment != r.Env:
		return p, r.Refuse("the plan is one of environment %s", m.Environment)
	case m.Layer != r.Name:
		return p, r.Refuse("the plan is one of layer %s and not of %s", m.Layer, r.Name)
	case !time.Now().Before(m.Expires):
		return p, r.Refuse("the plan of %s has expired, at %s", r.Name, m.Expires.Format(time.RFC3339))
	}
	if m.After == "" {
		p.sealed, err = read(planName)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, state.ErrNone) {
			return p, err
		}
		if manifest.Digest(p.sealed) != m.Plan {
			return p, r.Refuse("the plan of %s is not the one that its manifest was made for", r.Name)
		}
	}
	if err := r.refuseSpent(ctx, m); err != nil {
		return p, err
	}
	if r.Stamp, err = r.StateStamp(ctx, r.Key); err != nil {
		return p, err
	}
	now, err := r.bindings(ctx)
	if err != nil {
		return p, err
	}
	now.LockFile = m.Bindings.LockFile
	if name := m.Bindings.Differs(now); name != "" {
		return p, r.Refuse("since the plan of %s was made, %s has changed", r.Name, name)
	}
	return p, nil
}

// planSource reads the files of the root's sealed plan: out of a folder, or out
// of the bucket, where they lie under the digest of the files that are here now.
func (r *Layer) planSource(ctx context.Context) (read func(name string) ([]byte, error), where string) {
	if r.PlanFolder != "" {
		return func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(r.PlanFolder, "plan", r.FileName(), name))
		}, "the folder that --plan names"
	}
	return func(name string) ([]byte, error) { return r.Store.Read(ctx, r.kept()+name) }, r.Store.Name() + " for these very files"
}

// refuseSpent refuses a plan that was applied, or that a newer one of the same
// files has replaced.
func (r *Layer) refuseSpent(ctx context.Context, m manifest.Manifest) error {
	if r.Store == nil {
		return nil // the state's own serial has to do
	}
	by, err := r.Store.Read(ctx, r.ClaimKey(m))
	if err == nil {
		return r.Refuse("the plan of %s was applied already, or begun, by run %q", r.Name, by)
	}
	if !errors.Is(err, state.ErrNone) {
		return err
	}
	data, err := r.Store.Read(ctx, r.keptPlans()+strings.TrimPrefix(m.Bindings.Inputs, "sha256:")+"/"+manifestName)
	if errors.Is(err, state.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	// One that cannot be read is refused where it is used itself.
	other, err := manifest.Open(data, r.Credentials[state.Passphrase], r.Credentials[state.PreviousPassphrase])
	if err == nil && other.RunID != m.RunID && other.Created.After(m.Created) {
		return r.Refuse("the plan of %s was replaced by that of run %s", r.Name, other.RunID)
	}
	return nil
}

// ClaimKey is of the object by which a plan is applied once.
func (r *Layer) ClaimKey(m manifest.Manifest) string { return r.keptPlans() + m.RunID + ".applied" }

// applySealed applies a plan that was verified.
func (r *Layer) applySealed(ctx context.Context, p Sealed) (tofu.Outputs, error) {
	fmt.Fprintf(&r.Report, "%s: the plan of run %s, made %s\n", r.Name, p.RunID, p.Created.Format(time.RFC3339))
	if err := r.RefuseRuns(ctx); err != nil {
		return nil, err
	}
	if err := r.Init(ctx); err != nil {
		return nil, err
	}
	if err := r.RefuseLockFile(p.Manifest); err != nil {
		return nil, err
	}
	if !p.Changes {
		r.Report.WriteString(r.Name + ": No changes.\n")
		return r.Outputs(ctx)
	}
	if err := r.Unseal(p); err != nil {
		return nil, err
	}
	summary, err := r.ReadPlan(ctx)
	if err != nil {
		return nil, err
	}
	r.Show(summary)
	// What was reviewed and allowed is what the manifest says.
	if !slices.Equal(summary.Losses(), p.Losses) {
		return nil, r.Refuse("the plan of %s loses other resources than its manifest says", r.Name)
	}
	return r.applyOnce(ctx, p.Manifest)
}

// RefuseLockFile refuses a plan that was made with another lock file than init has left.
func (r *Layer) RefuseLockFile(m manifest.Manifest) error {
	lockFile, err := r.lockFileDigest()
	if err == nil && lockFile != m.Bindings.LockFile {
		err = r.Refuse("since the plan of %s was made, the lock file of the providers has changed", r.Name)
	}
	return err
}

// Unseal opens a plan for tofu.
func (r *Layer) Unseal(p Sealed) error {
	data, err := r.Identity.Open(p.sealed)
	if err != nil {
		return r.Refuse("the plan of %s cannot be opened: %v", r.Name, err)
	}
	if err := r.Folder().Write(r.Inside(r.PlanFile()), data); err != nil {
		return r.Full(err)
	}
	return nil
}

// applyOnce applies the plan that was unsealed, unless some run has begun to.
func (r *Layer) applyOnce(ctx context.Context, m manifest.Manifest) (tofu.Outputs, error) {
	if r.Store == nil {
		return r.applyPlan(ctx)
	}
	by, err := r.Store.Claim(ctx, r.ClaimKey(m), []byte(r.ID))
	if err != nil {
		return nil, err
	}
	if by != nil {
		return nil, r.Refuse("the plan of %s is being applied by run %q", r.Name, by)
	}
	outputs, err := r.applyPlan(ctx)
	var held *refusal.Error
	if errors.As(err, &held) {
		// Another held the lock, and nothing was begun.
		err = errors.Join(err, r.Store.Remove(context.WithoutCancel(ctx), r.ClaimKey(m)))
	}
	return outputs, err
}
