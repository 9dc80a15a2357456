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

// CheckSeal refuses what cannot stand in a manifest, before anything is planned.
func (s *Run) CheckSeal() error {
	for flag, value := range map[string]string{"--commit": s.Commit, "--base": s.Base} {
		if value != "" && !commitPattern.MatchString(value) {
			return refusal.New("git rev-parse HEAD", "%s is %q, which is no commit's hash", flag, value)
		}
	}
	if s.Keep && s.Store == nil {
		return refusal.New("dagger call plan-files --env="+s.Env+" export --path=.slipway/plan", "the state of %s is in no bucket, so its plan cannot be kept there", s.Env)
	}
	return nil
}

// Seal leaves the sealed plan of the root beside the result, and in the state's
// bucket if it is to be kept. With after, the name of an earlier layer that
// changes, there is no plan to seal: this one has to be planned again then.
func (r *Layer) Seal(ctx context.Context, summary plan.Summary, after string) error {
	bindings, err := r.bindings(ctx)
	if err != nil {
		return err
	}
	if bindings.LockFile, err = r.lockFileDigest(); err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	m := manifest.Manifest{
		RunID: r.ID, Environment: r.Env, Layer: r.Name, Commit: r.Commit, Base: r.Base,
		Created: now, Expires: now.Add(r.PlanLifetime), After: after, Bindings: bindings,
		Changes: !summary.Empty(), Losses: summary.Losses(),
	}
	var sealed []byte
	if after == "" {
		data, err := r.Folder().Read(r.Inside(r.PlanFile()))
		if err != nil {
			return err
		}
		if sealed, err = secrets.Envelope(data, r.Recipients); err != nil {
			return err
		}
		m.Plan = manifest.Digest(sealed)
	}
	data, err := manifest.Seal(m, r.Credentials[state.Passphrase])
	if err != nil {
		return err
	}
	r.sealed = append(r.sealed, manifest.Part{Layer: r.Name, Data: data})
	folder := filepath.Join(r.Out, "plan", r.FileName())
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
func (r *Layer) kept() string { return r.keptPlans() + r.Inputs[len("sha256:"):] + "/" }

func (r *Layer) keptPlans() string { return "plans/" + r.Key + "/" }

// keep puts a sealed plan into the bucket, in the place of an earlier one of the
// same files, and takes away those that have expired.
func (r *Layer) keep(ctx context.Context, sealed, data []byte) error {
	if sealed != nil {
		if err := r.Store.Write(ctx, r.kept()+planName, sealed); err != nil {
			return err
		}
	}
	// Last, because what it says must be there.
	if err := r.Store.Write(ctx, r.kept()+manifestName, data); err != nil {
		return err
	}
	objects, err := r.Store.List(ctx, r.keptPlans())
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.Age > r.PlanLifetime+24*time.Hour {
			if err := r.Store.Remove(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	if sealed != nil {
		fmt.Fprintf(&r.Report, "%s: the plan is kept until it is applied, %s at the latest\n", r.Name, time.Now().Add(r.PlanLifetime).UTC().Format(time.DateOnly))
	}
	return nil
}

// bindings are what a plan of the root depends on now, but for the lock file,
// which only init completes.
func (r *Layer) bindings(ctx context.Context) (manifest.Bindings, error) {
	tools, err := r.Tools()
	if err != nil {
		return manifest.Bindings{}, err
	}
	images, err := r.Images()
	if err != nil {
		return manifest.Bindings{}, err
	}
	b := manifest.Bindings{Inputs: r.Inputs, Tools: tools, Images: images, State: r.Stamp, Upstream: map[string]state.Stamp{}}
	for _, layer := range r.Environment.Layers {
		if layer == r.Config {
			break
		}
		if b.Upstream[r.Environment.LayerName(layer)], err = r.StateStamp(ctx, r.Environment.StateKey(layer)); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (r *Layer) lockFileDigest() (string, error) {
	data, err := r.Folder().Read(r.Inside(r.LockFile()))
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

// Images are those that this container was made of, by the pins that came along.
func (s *Run) Images() (map[string]string, error) {
	f, err := os.Open(s.PinsFile)
	if errors.Is(err, fs.ErrNotExist) { // or none is named
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := pins.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.PinsFile, err)
	}
	images := map[string]string{}
	for _, p := range list {
		images[p.Name] = p.Repository + "@" + p.Digest
	}
	return images, nil
}
