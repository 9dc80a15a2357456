package sealedplan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"

	"slipway/internal/layer"
	"slipway/internal/manifest"
	"slipway/internal/state"
	"slipway/internal/workspace"
)

// bind returns what a plan of the layer currently depends on, except for the lock file, which only
// init completes.
func bind(ctx context.Context, l *layer.Layer, programs func() (map[string]string, error)) (manifest.Bindings, error) {
	tools, err := programs()
	if err != nil {
		return manifest.Bindings{}, err
	}
	pins, err := l.Pins()
	if err != nil {
		return manifest.Bindings{}, err
	}
	b := manifest.Bindings{Inputs: l.Inputs, Tools: tools, State: l.Stamp, Upstream: map[string]state.Stamp{}}
	for _, p := range pins {
		if b.Images == nil {
			b.Images = map[string]string{}
		}
		b.Images[p.Name] = p.Repository + "@" + p.Digest
	}
	for _, config := range l.Environment.Layers {
		if config == l.Config {
			break
		}
		if b.Upstream[l.Environment.LayerName(config)], err = l.StateStamp(ctx, l.Environment.StateKey(config)); err != nil {
			return b, err
		}
	}
	return b, nil
}

func lockFileDigest(l *layer.Layer) (string, error) {
	data, err := workspace.Folder(l.Run).Read(workspace.Inside(l.Run, l.LockFile()))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the layer has no providers
	}
	return manifest.Digest(data), err
}

// digestPrograms starts computing the digests of the runner and of tofu, which takes a while, and
// returns a function that waits for them.
func digestPrograms() func() (map[string]string, error) {
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
