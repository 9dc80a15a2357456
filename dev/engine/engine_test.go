package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"slipway/dev/engine/build"
	"slipway/dev/engine/console"
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
			var r *console.Refusal
			if !errors.As(err, &r) || !strings.Contains(r.Message, c.want) || r.Hint == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestEveryPinHasAnImage keeps ci/pins.env and the images built here together,
// down to the version that the tag promises.
func TestEveryPinHasAnImage(t *testing.T) {
	pins, err := readPins("../../ci/pins.env")
	if err != nil {
		t.Fatal(err)
	}
	tools := settings{}.rack().Tools()
	for _, i := range images {
		if i.Reference == "" && !slices.ContainsFunc(pins, func(p pin) bool { return p.name == i.Pin }) {
			t.Errorf("no pin for %s", i.Pin)
		}
	}
	for _, p := range pins {
		if tool := slices.IndexFunc(tools, func(i build.Image) bool { return i.Pin == p.name }); tool >= 0 {
			// What is built here may be older than what is pinned, and says so by its own name.
			if repository, _, _ := strings.Cut(p.reference, ":"); !strings.HasPrefix(tools[tool].Reference, repository+":") {
				t.Errorf("%s is pinned to %s, and built as %s", p.name, p.reference, tools[tool].Reference)
			}
			continue
		}
		i, ok := imageFor(p.name)
		if !ok {
			t.Errorf("no image for %s", p.name)
			continue
		}
		version := build.DebianSuite
		switch {
		case i.GoRoot:
			version = build.GoVersion
		case i.Pin == "ANSIBLE":
			version = "3.13-slim-" + build.DebianSuite // Debian's Python
		case len(i.Programs) > 0:
			version = strings.TrimPrefix(i.Programs[0].Module.Version, "v")
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
