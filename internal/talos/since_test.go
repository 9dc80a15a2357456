package talos

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/must"
)

// A change on a machine is told apart from one in the files, setting by setting, without the values of hidden ones.
func TestSince(t *testing.T) {
	sysctl := func(value string) string { return "machine: {sysctls: {a: " + value + "}}" }
	const none = "machine: {type: worker}"
	env := func(value string) string { return "machine: {type: worker, env: {A: " + value + "}}" }
	for name, c := range map[string]struct {
		recorded, runs, wanted string
		onMachine, inFiles     string
	}{
		"nothing":                                {recorded: sysctl("1"), runs: sysctl("1"), wanted: sysctl("1")},
		"a value in the files":                   {recorded: sysctl("1"), runs: sysctl("1"), wanted: sysctl("2"), inFiles: "~ machine.sysctls.a: 1 → 2"},
		"a value on the machine":                 {recorded: sysctl("1"), runs: sysctl("2"), wanted: sysctl("1"), onMachine: "~ machine.sysctls.a: 1 → 2"},
		"a value in both":                        {recorded: sysctl("1"), runs: sysctl("2"), wanted: sysctl("3"), onMachine: "~ machine.sysctls.a: 1 → 2"},
		"the same value in both":                 {recorded: sysctl("1"), runs: sysctl("2"), wanted: sysctl("2")},
		"one more in the files":                  {recorded: none, runs: none, wanted: env("1"), inFiles: "+ machine.env.A: (hidden)"},
		"one more on the machine":                {recorded: none, runs: env("1"), wanted: none, onMachine: "+ machine.env.A: (hidden)"},
		"one more on the machine, another value": {recorded: none, runs: env("1"), wanted: env("2"), onMachine: "+ machine.env.A: (hidden)"},
		"one less in the files":                  {recorded: env("1"), runs: env("1"), wanted: none, inFiles: "- machine.env.A: (hidden)"},
		"one less on the machine":                {recorded: env("1"), runs: none, wanted: env("1"), onMachine: "- machine.env.A: (hidden)"},
		"a hidden value on the machine":          {recorded: env("1"), runs: env("2"), wanted: env("1"), onMachine: "~ machine.env.A: (hidden)"},
		"a list is made shorter on the machine":  {recorded: "machine: {certSANs: [a, b]}", runs: "machine: {certSANs: [a]}", wanted: "machine: {certSANs: [a, b]}", onMachine: "~ machine.certSANs: [a, b] → [a]"},
		"one more on the machine that is shown":  {recorded: "machine: {type: worker}", runs: "machine: {type: worker, sysctls: {a: 1}}", wanted: none, onMachine: "+ machine.sysctls.a: 1"},
		"one less on the machine that is shown":  {recorded: "machine: {type: worker, sysctls: {a: 1}}", runs: none, wanted: "machine: {type: worker, sysctls: {a: 1}}", onMachine: "- machine.sysctls.a: 1"},
		"two settings, one in each":              {recorded: "machine: {sysctls: {a: 1, b: 1}}", runs: "machine: {sysctls: {a: 2, b: 1}}", wanted: "machine: {sysctls: {a: 1, b: 2}}", onMachine: "~ machine.sysctls.a: 1 → 2", inFiles: "~ machine.sysctls.b: 1 → 2"},
		"a URL with a password on the machine":   {recorded: mirror("http://a"), runs: mirror("http://u:canary@a"), wanted: mirror("http://a"), onMachine: "~ machine.registries.mirrors.a.endpoints: (hidden)"},
		"a URL with a password in the record":    {recorded: mirror("http://u:canary@a"), runs: mirror("http://a"), wanted: mirror("http://b"), onMachine: "~ machine.registries.mirrors.a.endpoints: (hidden)"},
		"a document on the machine":              {recorded: none, runs: none + "\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a", wanted: none, onMachine: "+ HostnameConfig: hostname: a"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := parse([]byte(c.wanted))
			must.Do(t, err)
			changes := Compare(kept(t, c.runs, "key", unmasked), wanted, "key")
			onMachine, inFiles := Since(kept(t, c.recorded, "key", unmasked), changes)
			if d := cmp.Diff([]string{c.onMachine, c.inFiles}, []string{lines(onMachine), lines(inFiles)}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func mirror(url string) string {
	return "machine: {registries: {mirrors: {a: {endpoints: [\"" + url + "\"]}}}}"
}

func lines(changes []Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.String())
	}
	return strings.Join(all, "\n")
}
