package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"slipway/internal/manifest"
	"slipway/internal/pins"
	"slipway/internal/plan"
	"slipway/internal/refusal"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

// A sealed plan is two files: the first cannot be read but by who reads the
// environment's credentials, the second says what it is a plan of.
const (
	planName     = "plan.age"
	manifestName = "manifest.json"
)

var commitPattern = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// checkSeal refuses what cannot stand in a manifest, before anything is planned.
func (s *session) checkSeal() error {
	for flag, value := range map[string]string{"--commit": s.Commit, "--base": s.Base} {
		if value != "" && !commitPattern.MatchString(value) {
			return refusal.New("git rev-parse HEAD", "%s is %q, which is no commit's hash", flag, value)
		}
	}
	if s.Keep && s.store == nil {
		return refusal.New("dagger call plan-files --env="+s.Environment+" export --path=.slipway/plan", "the state of %s is in no bucket, so its plan cannot be kept there", s.Environment)
	}
	return nil
}

// seal leaves the sealed plan of the root beside the result, and in the state's
// bucket if it is to be kept. With after, the name of an earlier layer that
// changes, there is no plan to seal: this one has to be planned again then.
func (r *root) seal(ctx context.Context, summary plan.Summary, after string) error {
	bindings, err := r.bindings(ctx)
	if err != nil {
		return err
	}
	if bindings.LockFile, err = r.lockFileDigest(); err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	m := manifest.Manifest{
		RunID: r.RunID, Environment: r.Environment, Layer: r.name, Commit: r.Commit, Base: r.Base,
		Created: now, Expires: now.Add(r.PlanLifetime), After: after, Bindings: bindings,
		Changes: !summary.Empty(), Losses: summary.Losses(),
	}
	var sealed []byte
	if after == "" {
		data, err := r.workFolder().Read(r.inWork(r.planFile()))
		if err != nil {
			return err
		}
		if sealed, err = secrets.Envelope(data, r.recipients); err != nil {
			return err
		}
		m.Plan = manifest.Digest(sealed)
	}
	data, err := manifest.Seal(m, r.credentials[state.Passphrase])
	if err != nil {
		return err
	}
	r.sealed = append(r.sealed, manifest.Part{Layer: r.name, Data: data})
	folder := filepath.Join(r.Out, "plan", r.fileName())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, manifestName), data, 0o644); err != nil {
		return err
	}
	if sealed != nil {
		if err := os.WriteFile(filepath.Join(folder, planName), sealed, 0o644); err != nil {
			return err
		}
	}
	if !r.Keep {
		return nil
	}
	return r.keep(ctx, sealed, data)
}

// kept is the folder in the bucket of the plans of a state, by what they are
// plans of.
func (r *root) kept() string { return r.keptPlans() + r.inputs[len("sha256:"):] + "/" }

func (r *root) keptPlans() string { return "plans/" + r.key + "/" }

// keep puts a sealed plan into the bucket, in the place of an earlier one of the
// same files, and takes away those that have expired.
func (r *root) keep(ctx context.Context, sealed, data []byte) error {
	if sealed != nil {
		if err := r.store.Write(ctx, r.kept()+planName, sealed); err != nil {
			return err
		}
	}
	// Last, because what it says must be there.
	if err := r.store.Write(ctx, r.kept()+manifestName, data); err != nil {
		return err
	}
	objects, err := r.store.List(ctx, r.keptPlans())
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.Age > r.PlanLifetime+24*time.Hour {
			if err := r.store.Remove(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	if sealed != nil {
		fmt.Fprintf(&r.report, "%s: the plan is kept until it is applied, %s at the latest\n", r.name, time.Now().Add(r.PlanLifetime).UTC().Format(time.DateOnly))
	}
	return nil
}

// bindings are what a plan of the root depends on now, but for the lock file,
// which only init completes.
func (r *root) bindings(ctx context.Context) (manifest.Bindings, error) {
	tools, err := r.tools()
	if err != nil {
		return manifest.Bindings{}, err
	}
	images, err := r.images()
	if err != nil {
		return manifest.Bindings{}, err
	}
	b := manifest.Bindings{Inputs: r.inputs, Tools: tools, Images: images, State: r.stamp, Upstream: map[string]state.Stamp{}}
	for _, layer := range r.environment.Layers {
		if layer == r.layer {
			break
		}
		if b.Upstream[r.environment.LayerName(layer)], err = r.stampOf(ctx, r.environment.StateKey(layer)); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (r *root) lockFileDigest() (string, error) {
	data, err := r.workFolder().Read(r.inWork(r.lockFile()))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // of a root without providers
	}
	return manifest.Digest(data), err
}

// digestTools takes the digests of the programs while something else goes on.
func digestTools() func() (map[string]string, error) {
	digests := sync.OnceValues(func() (map[string]string, error) {
		runner, err := os.Executable()
		if err != nil {
			return nil, err
		}
		tool, err := exec.LookPath("tofu")
		if err != nil {
			return nil, err
		}
		found := map[string]string{}
		for name, path := range map[string]string{"slipway": runner, "tofu": tool} {
			if found[name], err = digestFile(path); err != nil {
				return nil, err
			}
		}
		return found, nil
	})
	go func() { _, _ = digests() }()
	return digests
}

func digestFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}

// images are those that this container was made of, by the pins that came along.
func (s *session) images() (map[string]string, error) {
	f, err := os.Open(s.Pins)
	if errors.Is(err, fs.ErrNotExist) { // or none is named
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := pins.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Pins, err)
	}
	images := map[string]string{}
	for _, p := range list {
		images[p.Name] = p.Repository + "@" + p.Digest
	}
	return images, nil
}
