// Package sealedplan seals plans, stores them, and finds and verifies them for an apply.
//
// A plan has a part for each layer, and one for the cluster of the environment. A sealed part consists of two files. plan.age can only be read by the recipients of the
// environment's own credentials; manifest.json describes what the plan was made from. They are
// stored in the results of the plan and, with --keep, in the state's bucket, under the digest of
// the files that were planned.
package sealedplan

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"slipway/internal/fault"
	"slipway/internal/layer"
	"slipway/internal/manifest"
	"slipway/internal/plan"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/workspace"
)

const (
	planName     = "plan.age"
	manifestName = "manifest.json"
)

// A Sealer seals the plans of one run.
type Sealer struct {
	Commit   string        // commit of the files, for the manifest; may be empty
	Base     string        // commit into which they are to be merged; may be empty
	Keep     bool          // also store it in the state's bucket
	Lifetime time.Duration // time after which the plan can no longer be applied

	Programs func() (map[string]string, error) // digests of the programs; nil: those of the runner and tofu
	parts    []manifest.Part
}

var commitPattern = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// Check refuses what cannot be in a manifest, before anything is planned.
func (s *Sealer) Check(r *run.Run) error {
	for flag, value := range map[string]string{"--commit": s.Commit, "--base": s.Base} {
		if value != "" && !commitPattern.MatchString(value) {
			return fault.Refuse("git rev-parse HEAD", "%s is %q, which is not the hash of a commit", flag, value)
		}
	}
	if s.Keep && r.Store == nil {
		return fault.Refuse("dagger call plan-files --env="+r.Env+" export --path=.slipway/plan", "the state of %s is not in a bucket, so its plan cannot be kept there", r.Env)
	}
	if s.Programs == nil {
		s.Programs = digestPrograms()
	}
	return nil
}

// Digest returns the digest of the sealed plans, which a reviewer approves.
func (s *Sealer) Digest(r *run.Run) string { return manifest.PlanDigest(r.Env, s.parts) }

// Seal writes the sealed plan of a layer to the results and, if it is to be kept, to the state's
// bucket. If after names an earlier layer that changes, there is no plan to seal, and this layer
// has to be planned again after that.
func (s *Sealer) Seal(ctx context.Context, l *layer.Layer, summary plan.Summary, after string) error {
	bindings, err := bind(ctx, l, s.Programs)
	if err != nil {
		return err
	}
	if bindings.LockFile, err = lockFileDigest(l); err != nil {
		return err
	}
	var data []byte
	if after == "" {
		if data, err = workspace.Folder(l.Run).Read(workspace.Inside(l.Run, l.PlanFile())); err != nil {
			return err
		}
	}
	return s.seal(ctx, ofLayer(l), bindings, data, summary, after)
}

// SealCluster is Seal for the plan of the environment's cluster, which is data.
func (s *Sealer) SealCluster(ctx context.Context, c Cluster, data []byte, summary plan.Summary, after string) error {
	bindings, err := c.bind(ctx, s.Programs)
	if err != nil {
		return err
	}
	return s.seal(ctx, c.part(), bindings, data, summary, after)
}

// seal seals a part. There is no plan of it if it has to be planned again.
func (s *Sealer) seal(ctx context.Context, p part, bindings manifest.Bindings, plain []byte, summary plan.Summary, after string) error {
	now := time.Now().UTC().Truncate(time.Second)
	m := manifest.Manifest{
		RunID: p.ID, Environment: p.Env, Layer: p.name, Commit: s.Commit, Base: s.Base,
		Created: now, Expires: now.Add(s.Lifetime), After: after, Bindings: bindings,
		Changes: !summary.Empty(), Losses: summary.Losses(),
	}
	var sealed []byte
	if after == "" {
		var err error
		if sealed, err = secrets.Envelope(plain, p.Recipients); err != nil {
			return err
		}
		m.Plan = manifest.Digest(sealed)
	}
	data, err := manifest.Seal(m, p.Credentials[state.Passphrase])
	if err != nil {
		return err
	}
	s.parts = append(s.parts, manifest.Part{Layer: p.name, Data: data})
	if err := p.Leave(p.folder()+manifestName, data); err != nil {
		return err
	}
	if sealed != nil {
		if err := p.Leave(p.folder()+planName, sealed); err != nil {
			return err
		}
	}
	if !s.Keep {
		return nil
	}
	return s.keep(ctx, p, sealed, data)
}

// keep stores a sealed plan in the bucket, replaces an earlier one of the same files, and deletes
// expired ones.
func (s *Sealer) keep(ctx context.Context, p part, sealed, data []byte) error {
	if sealed != nil {
		if err := p.Store.Write(ctx, p.kept()+planName, sealed); err != nil {
			return err
		}
	}
	// This is written last, because what it refers to must exist.
	if err := p.Store.Write(ctx, p.kept()+manifestName, data); err != nil {
		return err
	}
	objects, err := p.Store.List(ctx, p.plans())
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.Age > s.Lifetime+24*time.Hour {
			if err := p.Store.Remove(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	if sealed != nil {
		fmt.Fprintf(&p.Report, "%s: the plan is kept until it is applied, or until %s\n", p.name, time.Now().Add(s.Lifetime).UTC().Format(time.DateOnly))
	}
	return nil
}
