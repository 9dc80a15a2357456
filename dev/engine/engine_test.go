package main

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRememberPins(t *testing.T) {
	for name, c := range map[string]struct{ before, pins, want string }{
		"no file":                 {"", localPinsPath, "PINS=.slipway/pins.env\n"},
		"other lines stay":        {"AGEKEY=file://key\n", localPinsPath, "AGEKEY=file://key\nPINS=.slipway/pins.env\n"},
		"a last line without end": {"A=1", localPinsPath, "A=1\nPINS=.slipway/pins.env\n"},
		"another value":           {"PINS=x\nA=1\n", localPinsPath, "A=1\nPINS=.slipway/pins.env\n"},
		"the upstream images":     {"A=1\nPINS=x\n", "", "A=1\n"},
		"nothing to forget":       {"A=1", "", "A=1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings{repo: t.TempDir()}
			if c.before != "" {
				if err := os.WriteFile(s.dotEnv(), []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second time changes nothing
				if err := s.rememberPins(c.pins); err != nil {
					t.Fatal(err)
				}
			}
			if got, _ := os.ReadFile(s.dotEnv()); string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReadSettingsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ variable, value, want string }{
		"a port that is a word": {"SLIPWAY_REGISTRY_PORT", "http", `SLIPWAY_REGISTRY_PORT is "http", not a number from 1 to 65535`},
		"a port out of range":   {"SLIPWAY_REGISTRY_PORT", "65536", `"65536"`},
		"a store too small":     {"SLIPWAY_STORE_GB", "1", `SLIPWAY_STORE_GB is "1"`},
		"a run folder too long": {"SLIPWAY_RUN_DIR", "/" + strings.Repeat("x", 100), "is too long for a socket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			_, err := readSettings()
			var r *refusal
			if !errors.As(err, &r) || !strings.Contains(r.message, c.want) || r.hint == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Two archives of the same files are the same bytes, whatever their times and
// the umask they were written under.
func TestWriteLayerIsReproducible(t *testing.T) {
	digest := func(mode os.FileMode) [32]byte {
		dir := t.TempDir()
		for _, name := range []string{"bin/go", "src/a.go"} {
			path := filepath.Join(dir, "tree", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700|mode); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		archive := filepath.Join(dir, "layer.tar")
		programs := func(name string) bool { return strings.HasPrefix(name, "bin/") }
		if err := writeLayer(archive, placement{filepath.Join(dir, "tree"), "/usr/local/go", programs}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(data)
	}
	if digest(0o644) != digest(0o400) {
		t.Error("two archives of the same content differ")
	}
}

// TestEveryPinHasAnImage keeps ci/pins.env and the images built here together,
// down to the version that the tag promises.
func TestEveryPinHasAnImage(t *testing.T) {
	pins, err := readPins("../../ci/pins.env")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		if i.reference == "" && !slices.ContainsFunc(pins, func(p pin) bool { return p.name == i.pin }) {
			t.Errorf("no pin for %s", i.pin)
		}
	}
	for _, p := range pins {
		i, ok := imageFor(p.name)
		if !ok {
			t.Errorf("no image for %s", p.name)
			continue
		}
		version := debianSuite
		switch {
		case i.goRoot:
			version = goVersion
		case i.pin == "ANSIBLE":
			version = "3.13-slim-" + debianSuite // Debian's Python
		case len(i.programs) > 0:
			version = strings.TrimPrefix(i.programs[0].module.version, "v")
		}
		if !strings.Contains(p.reference, ":"+version) {
			t.Errorf("%s is pinned to %s, and built as %s", p.name, p.reference, version)
		}
	}
}

// TestEngineVersion keeps the module and the engine that we build together.
func TestEngineVersion(t *testing.T) {
	data, err := os.ReadFile("../../dagger.json")
	if err != nil {
		t.Fatal(err)
	}
	if want := `"engineVersion": "` + daggerVersion + `"`; !strings.Contains(string(data), want) {
		t.Errorf("dagger.json has no %s", want)
	}
}

func TestOffline(t *testing.T) {
	for text, want := range map[string]bool{
		`Get "https://proxy/x": dial tcp: lookup proxy: no such host`: true,
		"E: Could not connect to deb.debian.org:80":                   true,
		"undefined: foo": false,
	} {
		if offline(text) != want {
			t.Errorf("%q: got %v", text, !want)
		}
	}
}
