package sealedplan

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/must"
)

// The state of each layer before this one is what a plan depends on, too; those behind it are
// not.
func TestBindings(t *testing.T) {
	d := newPlanDesk(t)
	d.withPlan(nil)
	layers := []environment.Layer{{Path: "net"}, {Path: "app"}, {Path: "top"}}
	d.Environment.Layers = layers
	d.Config = layers[1]
	for key, serial := range map[string]string{"test/net.tfstate": "3", "test/top.tfstate": "5"} {
		must.Do(t, d.Store.Write(t.Context(), key, []byte(`{"serial":`+serial+`,"lineage":"line","encrypted_data":"x"}`)))
	}
	const digest = "@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	d.PinsFile = filepath.Join(t.TempDir(), "pins.env")
	must.Do(t, os.WriteFile(d.PinsFile, []byte("A=example.org/a:1"+digest+"\nB=example.org/b:2"+digest+"\n"), 0o600))
	b, err := bind(t.Context(), d.Layer, d.source.Programs)
	must.Do(t, err)
	if len(b.Images) != 2 || b.Images["A"] != "example.org/a"+digest || b.Images["B"] != "example.org/b"+digest {
		t.Errorf("got %v", b.Images)
	}
	if len(b.Upstream) != 1 || b.Upstream["net"].Serial != 3 || b.Inputs != d.Inputs || b.Tools["tofu"] == "" {
		t.Errorf("%+v", b)
	}
}

// A plan depends on the very programs that made it: this one, and the tofu that is found.
func TestDigestTools(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if found, err := digestPrograms()(); err == nil {
		t.Errorf("without tofu: %v", found)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "tofu"), []byte("a program"), 0o700))
	found, err := digestPrograms()()
	must.Do(t, err)
	self, err := os.Executable()
	must.Do(t, err)
	own, err := digestFile(self)
	must.Do(t, err)
	sum := sha256.Sum256([]byte("a program"))
	if len(found) != 2 || found["tofu"] != "sha256:"+hex.EncodeToString(sum[:]) || found["slipway"] != own || own == found["tofu"] {
		t.Errorf("%v", found)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if digest, err := digestFile(path); err == nil {
			t.Errorf("of %s: %s", path, digest)
		}
	}
}

// The states of all earlier layers count; one that cannot be read is an error.
func TestBindingsOfLayers(t *testing.T) {
	d := planning(t)
	layers := []environment.Layer{{Path: "net"}, {Path: "app"}, {Path: "top"}}
	d.Environment.Layers, d.Config = layers, layers[2]
	must.Do(t, d.Store.Write(t.Context(), "test/app.tfstate", []byte(`{"serial":4,"lineage":"line","encrypted_data":"x"}`)))
	b, err := bind(t.Context(), d.Layer, d.sealer.Programs)
	must.Do(t, err)
	if len(b.Upstream) != 2 || b.Upstream["app"].Serial != 4 {
		t.Errorf("%+v", b.Upstream)
	}
	must.Do(t, d.Store.Write(t.Context(), "test/app.tfstate", []byte("x")))
	if _, err := bind(t.Context(), d.Layer, d.sealer.Programs); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v", err)
	}
}
