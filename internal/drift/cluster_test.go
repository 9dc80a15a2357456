package drift

import (
	"encoding/json"
	"strings"
	"testing"

	"slipway/internal/plan"
)

// Each kind of finding counts, and the headline has its number. Notes and expected changes do not count.
func TestClusterHeadline(t *testing.T) {
	update := []plan.Change{{Address: "a", Action: plan.Update, Attributes: []string{"machine.env.A"}}}
	for want, c := range map[string]*Cluster{
		"matches its code": {Expected: []string{"a"}, Noted: []string{"x is left alone"}},
		"does not match its code: 1 changed in the cluster":      {Changed: []plan.Drift{{Address: "a", Deleted: true}}},
		"does not match its code: 2 changed in the cluster":      {Changed: []plan.Drift{{Address: "a"}}, Foreign: []string{"another machine"}},
		"does not match its code: 1 not applied yet":             {Unapplied: update},
		"does not match its code: 1 differing from cluster.yaml": {Differs: update},
	} {
		check := Check{Cluster: c}
		check.Conclude()
		if got := check.Headline(); got != want || (check.Status == Clean) != (want == "matches its code") {
			t.Errorf("%s, %s; want %s", got, check.Status, want)
		}
	}
	check := Check{Layers: []Layer{{Unapplied: update}}, Cluster: &Cluster{Unapplied: update}}
	check.Conclude()
	if got := check.Headline(); got != "does not match its code: 2 not applied yet" {
		t.Error(got)
	}
	check = Check{}
	check.Conclude()
	if check.Status != Clean || len(check.Lines()) > 0 {
		t.Errorf("without a cluster: %s, %q", check.Status, check.Lines())
	}
}

// No text with a secret is left, except for names of nodes, which are in the repository.
func TestClusterMasked(t *testing.T) {
	values := []plan.Value{{Path: "machine.nodeLabels.canary", Old: "1", New: "2"}, {Path: "machine.sysctls.a", Old: "1", New: "canary"}, {Path: "machine.sysctls.b", Old: "1", New: "2"}}
	attributes := []string{"machine.env.canary", "machine"}
	change := []plan.Change{{Address: "a", Action: plan.Update, Attributes: attributes, Values: values}}
	c := Check{Cluster: &Cluster{
		Changed: []plan.Drift{{Address: "a", Attributes: attributes, Values: values}, {Address: "b", Deleted: true}}, Unapplied: change, Differs: change,
		Foreign: []string{"etcd has canary"}, Expected: []string{"a"}, Noted: []string{"a canary"},
	}}
	before, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	masked := c.Masked(func(text string) string { return strings.ReplaceAll(text, "canary", "***") })
	data, err := json.Marshal(masked)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "canary") || strings.Count(string(data), `"machine.sysctls.b"`) != 3 || strings.Count(string(data), `machine.env.***`) != 3 {
		t.Errorf("got %s", data)
	}
	want := []string{
		"! cluster.yaml: etcd has ***",
		"! cluster.yaml: a was changed (machine.sysctls.b: 1 → 2, machine.env.***, machine) on the node",
		"! cluster.yaml: b has lost its configuration",
		"~ cluster.yaml: a is not applied yet: update (machine.sysctls.b: 1 → 2, machine.env.***, machine)",
		"? cluster.yaml: a differs (machine.sysctls.b: 1 → 2, machine.env.***, machine), and no record says who changed it",
		"  cluster.yaml: a has changed, as environment.yaml expects",
		"  cluster.yaml: a ***",
	}
	if got := strings.Join(masked.Lines(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if after, _ := json.Marshal(c); string(after) != string(before) {
		t.Errorf("the original is masked: %s", after)
	}
}
