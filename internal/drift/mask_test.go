package drift

import (
	"encoding/json"
	"strings"
	"testing"

	"slipway/internal/plan"
)

// No key of an instance is left, wherever an address stands, and all names are.
func TestMasked(t *testing.T) {
	const address = `x.drifted["canary"]`
	c := Check{
		Environment: "prod", Status: Drifted, Error: "canary", Hint: "canary", Expired: []string{address},
		Hosts: []Host{{Name: "web", Task: "canary", Item: "canary"}},
		Layers: []Layer{{
			Name: "base", Cloud: []plan.Drift{{Address: address}}, Noted: []plan.Drift{{Address: address}},
			Unapplied: []plan.Change{{Address: address, From: address, Action: plan.Create}}, Expected: []string{address},
		}},
	}
	before, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c.Masked(func(text string) string { return strings.ReplaceAll(text, "canary", "***") }))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "canary") || strings.Count(string(data), "***") != strings.Count(string(before), "canary") || !strings.Contains(string(data), "drifted") {
		t.Errorf("got %s", data)
	}
	if after, _ := json.Marshal(c); string(after) != string(before) {
		t.Errorf("the original is masked: %s", after)
	}
}

// Of a value that contains a secret, the name of the attribute is left.
func TestMaskedValues(t *testing.T) {
	values := func(secret string) []plan.Value { return []plan.Value{{Path: "size", Old: "1", New: secret}} }
	layer := func(secret string) Layer {
		return Layer{
			Cloud: []plan.Drift{{Values: values(secret)}}, Noted: []plan.Drift{{Values: values(secret)}}, Unapplied: []plan.Change{{Values: values(secret)}},
		}
	}
	for _, secret := range []string{"canary", "2"} {
		c := Check{Layers: []Layer{layer(secret)}}
		got, err := json.Marshal(c.Masked(func(text string) string { return strings.ReplaceAll(text, "canary", "***") }))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(got), `"new":"2"`); strings.Contains(string(got), "canary") || strings.Contains(string(got), "***") || (n == 3) != (secret == "2") {
			t.Errorf("of %s: %s", secret, got)
		}
	}
}
