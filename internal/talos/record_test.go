package talos

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/must"
)

func unmasked(text string) string { return text }

// kept is what is kept of a configuration.
func kept(t *testing.T, text, key string, mask func(string) string) []Kept {
	t.Helper()
	settings, err := parse([]byte(text))
	must.Do(t, err)
	return Keep(settings, key, mask)
}

// A comparison with what was kept of a configuration says the same as one with the configuration. Nothing that
// is hidden is kept.
func TestCompare(t *testing.T) {
	for name, c := range differing {
		t.Run(name, func(t *testing.T) {
			before := kept(t, c.before, "key", unmasked)
			stored, err := json.Marshal(before)
			must.Do(t, err)
			if strings.Contains(strings.ReplaceAll(string(stored), "canary@", ""), "canary") {
				t.Errorf("it keeps %s", stored)
			}
			var again []Kept
			must.Do(t, json.Unmarshal(stored, &again))
			after, err := parse([]byte(c.after))
			must.Do(t, err)
			var lines []string
			for _, change := range Compare(again, after, "key") {
				lines = append(lines, change.String())
				if (change.Was == "") != (change.Sign == "+") {
					t.Errorf("%s was %q", change, change.Was)
				}
			}
			if d := cmp.Diff(c.want, strings.Join(lines, "\n")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A digest is of one setting, under one key. A value that the mask knows is not kept.
func TestKeep(t *testing.T) {
	const text = "machine: {sysctls: {a: same, b: same}, token: same}"
	all := kept(t, text, "key", unmasked)
	if len(all) != 3 || all[0].Value != "same" || all[2].Value != "" {
		t.Fatalf("%+v", all)
	}
	for i, one := range all {
		for _, other := range append(slices.Clone(all[:i]), kept(t, text, "other", unmasked)...) {
			if one.Digest == other.Digest || len(one.Digest) != 32 {
				t.Errorf("%s and %s have the digest %s", one.Place, other.Place, one.Digest)
			}
		}
	}
	masked := kept(t, text, "key", func(string) string { return "***" })
	if masked[0].Value != "" || masked[0].Digest != all[0].Digest {
		t.Errorf("%+v", masked[0])
	}
	after, err := parse([]byte(text))
	must.Do(t, err)
	if changes := Compare(masked, after, "key"); len(changes) > 0 {
		t.Errorf("masked: %v", changes)
	}
	if changes := Compare(all, after, "other"); len(changes) != 3 {
		t.Errorf("under another key: %v", changes)
	}
}

// The settings of a node are foreseen without the secrets of the machines. The plan that follows is empty for a
// node that has its configuration, and else has all but the secrets.
func TestForesee(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.13.0", "v1.14.1"} {
		for _, role := range []cluster.Role{cluster.ControlPlane, cluster.Worker} {
			for _, age := range []string{"new", "old"} {
				t.Run(version+" "+string(role)+" "+age, func(t *testing.T) {
					real := bundle(t, version)
					if age == "old" {
						real.Secrets.SecretboxEncryptionSecret, real.Secrets.AESCBCEncryptionSecret = "", strings.Repeat("k", 43)+"="
					}
					checkForeseen(t, version, role, real)
				})
			}
		}
	}
}

func checkForeseen(t *testing.T, version string, role cluster.Role, real *secrets.Bundle) {
	t.Helper()
	n := cluster.Node{Name: "a", Address: "10.0.0.11", Role: role, Disk: "/dev/sda"}
	s, err := NewStandIn(version)
	must.Do(t, err)
	settings := func(b *secrets.Bundle, patch string) []Setting {
		t.Helper()
		c, err := Render(home(version), n, b, []byte(patch))
		must.Do(t, err)
		all, err := Settings(c)
		must.Do(t, err)
		return all
	}
	const before, after = "machine: {sysctls: {vm.swappiness: \"10\"}, env: {A: b}}", "machine: {sysctls: {vm.swappiness: \"20\"}, env: {A: c}}"
	has := Keep(settings(real, before), "key", unmasked)
	same, err := Foresee(home(version), n, s, []byte(before))
	must.Do(t, err)
	if changes := Compare(has, same, "key"); len(changes) > 0 {
		t.Errorf("the same: %v", changes)
	}
	other, err := Foresee(home(version), n, s, []byte(after))
	must.Do(t, err)
	foreseen, really := Compare(has, other, "key"), Compare(has, settings(real, after), "key")
	if d := cmp.Diff(really, foreseen); d != "" || len(foreseen) != 2 {
		t.Errorf("another (-really +foreseen):\n%s", d)
	}
	derived, seen := 0, map[string]bool{}
	for _, f := range same {
		if seen[f.key()] {
			t.Errorf("%s is listed twice", f.Place)
		}
		seen[f.key()] = true
		if f.derived {
			derived++
			if !f.Hidden || f.Value != "" || f.raw != "" {
				t.Errorf("%s of a stand-in is there", f.Place)
			}
		}
	}
	if derived < 5 {
		t.Errorf("%d settings depend on the secrets", derived)
	}
	// Somebody who has the secrets sees that one changes.
	real.TrustdInfo.Token = "other"
	if changes := Compare(has, settings(real, before), "key"); len(changes) != 1 || changes[0].String() != "~ machine.token: (hidden)" {
		t.Errorf("another token: %v", changes)
	}
}

// Up to Talos 1.13, changes outside of some sections restart a machine.
func TestRestarts(t *testing.T) {
	for name, c := range map[string]struct {
		version, document, path string
		want                    bool
	}{
		"a sysctl":                  {"v1.13.0", "", "machine.sysctls.a", false},
		"an environment variable":   {"v1.13.0", "", "machine.env.A", true},
		"the same in 1.12":          {"v1.12.4", "", "machine.env.A", true},
		"the same in 1.14":          {"v1.14.1", "", "machine.env.A", false},
		"of an unknown version":     {"", "", "machine.env.A", false},
		"a section of the cluster":  {"v1.13.0", "", "cluster.apiServer.image", false},
		"a section that is similar": {"v1.13.0", "", "machine.timeouts.a", true},
		"a section itself":          {"v1.13.0", "", "machine.network", false},
		"another document":          {"v1.13.0", "WatchdogTimerConfig", "timeout", false},
	} {
		change := Change{Sign: "~", Place: Place{c.document, strings.Split(c.path, ".")}}
		if got := Restarts(c.version, []Change{{Place: Place{"HostnameConfig", []string{"hostname"}}}, change}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Restarts("v1.13.0", nil) {
		t.Error("nothing restarts it")
	}
}
