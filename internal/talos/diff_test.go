package talos

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/cluster"
	"slipway/internal/must"
)

// differing are two configurations, and their differences.
var differing = map[string]struct{ before, after, want string }{
	"nothing":                {"machine: {type: worker}", "machine: {type: worker}", ""},
	"a sysctl":               {"machine: {sysctls: {vm.swappiness: \"10\"}}", "machine: {sysctls: {vm.swappiness: \"20\"}}", "~ machine.sysctls.vm.swappiness: 10 → 20"},
	"a list":                 {"machine: {certSANs: [a]}", "machine: {certSANs: [a, b]}", "~ machine.certSANs: [a] → [a, b]"},
	"new and gone":           {"machine: {sysctls: {a: x}}", "machine: {sysctls: {b: y}}", "+ machine.sysctls.b: y\n- machine.sysctls.a: x"},
	"a token":                {"machine: {token: canary1}", "machine: {token: canary2}", "~ machine.token: (hidden)"},
	"an unknown setting":     {"machine: {type: worker}", "machine: {type: worker, novel: canary}", "+ machine.novel: (hidden)"},
	"an unknown kind":        {"kind: NovelConfig\nname: a\nx: canary1", "kind: NovelConfig\nname: a\nx: canary2", "~ NovelConfig a: x: (hidden)"},
	"an extra argument":      {"cluster: {apiServer: {extraArgs: {a: canary1}}}", "cluster: {apiServer: {extraArgs: {a: canary2}}}", "~ cluster.apiServer.extraArgs.a: (hidden)"},
	"a mirror":               {"", "kind: RegistryMirrorConfig\nname: docker.io\nendpoints: [{url: \"https://mirror.example.org\"}]", "+ RegistryMirrorConfig docker.io: name: docker.io\n+ RegistryMirrorConfig docker.io: endpoints.https://mirror.example.org.url: https://mirror.example.org"},
	"a URL with a password":  {"", "kind: RegistryMirrorConfig\nname: docker.io\nendpoints: [{url: \"https://u:canary@mirror.example.org\"}]", "+ RegistryMirrorConfig docker.io: name: docker.io\n+ RegistryMirrorConfig docker.io: endpoints.0.url: (hidden)"},
	"a key with a password":  {"", "machine: {registries: {config: {\"https://u:canary@x\": {auth: {username: canary}}}}}", "+ machine.registries.config.(hidden).auth.username: (hidden)"},
	"a URL gets a password":  {mirror("http://x"), mirror("http://u:canary@x"), "~ machine.registries.mirrors.a.endpoints: (hidden)"},
	"a URL loses it":         {mirror("http://u:canary@x"), mirror("http://x"), "~ machine.registries.mirrors.a.endpoints: (hidden)"},
	"a URL with a query":     {"", mirror("http://x?canary"), "+ machine.registries.mirrors.a.endpoints: (hidden)"},
	"a URL that is none":     {"", mirror("http://x:canary"), "+ machine.registries.mirrors.a.endpoints: (hidden)"},
	"a word like a URL":      {"machine: {sysctls: {a: 10%}}", "machine: {sysctls: {a: 20%}}", "~ machine.sysctls.a: 10% → 20%"},
	"a section that is none": {"machine: {type: worker}", "machine: {type: worker, install: canary}", "+ machine.install: (hidden)"},
	"lists in a list":        {"", "kind: BondConfig\nlinks: [[name, a], [name, b]]", "+ BondConfig: links.0: [name, a]\n+ BondConfig: links.1: [name, b]"},
	"two of one name":        {"", "kind: BondConfig\nlinks: [{name: a}, {name: a}]", "+ BondConfig: links.0.name: a\n+ BondConfig: links.1.name: a"},
	"a file":                 {"machine: {files: [{path: /a, content: canary1}]}", "machine: {files: [{path: /b, content: canary}, {path: /a, content: canary2}]}", "+ machine.files./b.path: /b\n+ machine.files./b.content: (hidden)\n~ machine.files./a.content: (hidden)"},
	"empty":                  {"machine: {network: {}}", "machine: {network: {hostname: \"\"}}", "+ machine.network.hostname: \"\"\n- machine.network: {}"},
	"a list in disguise":     {"machine: {certSANs: [\"a, b\"]}", "machine: {certSANs: [a, b]}", "~ machine.certSANs: [\"a, b\"] → [a, b]"},
}

func diff(t *testing.T, before, after string) string {
	t.Helper()
	a, err := parse([]byte(before))
	must.Do(t, err)
	b, err := parse([]byte(after))
	must.Do(t, err)
	var lines []string
	for _, c := range Diff(a, b) {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}

// A difference is a setting with its old and its new value. The value of a setting that is not known to
// be harmless is hidden, and so is that of one in a kind of document that is not known at all.
func TestDiff(t *testing.T) {
	for name, c := range differing {
		t.Run(name, func(t *testing.T) {
			got := diff(t, c.before, c.after)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if strings.Contains(got, "canary") {
				t.Error("it shows what may be a secret")
			}
		})
	}
}

// What is not made of YAML documents has no settings.
func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"{", "- a\n", "a: b\n---\ncanary\n"} {
		_, err := parse([]byte(text))
		must.Fail(t, err, "the configuration is not made of YAML documents")
	}
}

// Every setting that Slipway itself writes is shown, but secrets and what is derived from them.
func TestSettingsOfRendered(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.13.0", "v1.14.1"} {
		for _, role := range []cluster.Role{cluster.ControlPlane, cluster.Worker} {
			c, err := Render(home(version), cluster.Node{Name: "a", Address: "10.0.0.11", Role: role, Disk: "/dev/sda"}, bundle(t, version))
			must.Do(t, err)
			all, err := Settings(c)
			must.Do(t, err)
			var hidden []string
			for _, s := range all {
				if s.Hidden {
					hidden = append(hidden, s.String())
				}
			}
			golden(t, strings.TrimPrefix(version, "v")+"-"+string(role)+".hidden", strings.Join(hidden, "\n")+"\n")
		}
	}
}
