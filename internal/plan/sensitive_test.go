package plan

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is marked in a plan is found, and what is not marked is left alone.
func TestReadSensitive(t *testing.T) {
	file, err := os.Open("testdata/changes.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"canary-variable", "canary-other-variable"} {
		if !slices.Contains(got, value) {
			t.Errorf("%s is not among %q", value, got)
		}
	}
	if slices.Contains(got, "canary-same") {
		t.Errorf("a value that is not marked is among %q", got)
	}
}

// Every place that may hold a sensitive value, in an order that is not OpenTofu's.
func TestSensitivePlaces(t *testing.T) {
	change := func(before, after string) string {
		return `{"address":"x","change":{"actions":["update"],"before":{"p":"` + before + `","q":"plain"},"after":{"p":"` + after + `"},"before_sensitive":{"p":true},"after_sensitive":{"p":true}}}`
	}
	_, got, err := Read(strings.NewReader(head +
		`"configuration":{"root_module":{"module_calls":{"v2":{"module":{"variables":{"v2":{"sensitive":true}}}}},"variables":{"v":{"sensitive":true},"v2":{},"unset":{"sensitive":true}}}},
		"variables":{"v":{"value":{"deep":["variable-1",100000000]}},"v2":{"value":"plain"}},
		"resource_changes":[` + change("before", "after") + `],"resource_drift":[` + change("drift before", "drift after") + `],
		"output_changes":{"o":{"actions":["update"],"before":"output before","after":"output after","before_sensitive":true,"after_sensitive":true}},
		"prior_state":{"values":{"outputs":{"o":{"sensitive":true,"value":"state output"},"p":{"value":"plain"}},"root_module":{
			"resources":[{"values":{"a":"state"},"sensitive_values":{"a":true}},{"values":{"a":"state"},"sensitive_values":{"a":true}}],
			"child_modules":[{"child_modules":[{"resources":[{"values":{"a":["module","plain"],"b":"plain"},"sensitive_values":{"a":[true]}}]}]}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"100000000", "after", "before", "drift after", "drift before", "module", "output after", "output before", "state", "state output", "variable-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSensitiveState(t *testing.T) {
	got, err := Sensitive([]byte(`{"format_version":"1.0","values":{"outputs":{"o":{"sensitive":true,"value":12345678}},
		"root_module":{"resources":[{"address":"x","values":{"a":"one","b":"two"},"sensitive_values":{"a":true}}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"12345678", "one"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := Sensitive([]byte(`{"format_version":"1.0"}`)); err != nil || got != nil {
		t.Errorf("of an empty state: %q, %v", got, err)
	}
	for _, text := range []string{"", "canary", `{"values":"canary"}`, `{"values":{}}{}`} {
		if _, err := Sensitive([]byte(text)); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("of %s: %v", text, err)
		}
	}
}

// What a resource's marks say. Marks that cannot be read mark everything.
func TestSensitiveMarks(t *testing.T) {
	for marks, want := range map[string][]string{
		"":                                nil,
		`,"sensitive_values":null`:        nil,
		`,"sensitive_values":{}`:          nil,
		`,"sensitive_values":{"a":true}`:  {"value-of-a"},
		`,"sensitive_values":{"a":1e999}`: {"value-of-a", "value-of-b"},
	} {
		got, err := Sensitive([]byte(`{"values":{"root_module":{"resources":[{"values":{"a":"value-of-a","b":"value-of-b"}` + marks + `}]}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", marks, diff)
		}
	}
}

// Modules are read as deep as the bound says, and what is deeper is refused.
func TestSensitiveDepth(t *testing.T) {
	state := func(depth int) []byte {
		module := `{"resources":[{"values":{"a":"innermost"},"sensitive_values":{"a":true}}]}`
		for range depth - 1 {
			module = `{"child_modules":[` + module + `]}`
		}
		return []byte(`{"values":{"root_module":` + module + `}}`)
	}
	if got, err := Sensitive(state(deepest)); err != nil || len(got) != 1 {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Sensitive(state(deepest + 1)); err == nil {
		t.Error("a deeper one is read")
	}
}

// TestMarked: each value has one mark, or a tree of them.
func TestMarked(t *testing.T) {
	const config = `{"token": "in-json", "kind": "Config"}`
	const uri = "postgres://me:in-the-uri@db.example.org:5432/app"
	type object = map[string]any
	type list = []any
	for name, c := range map[string]struct {
		value, mark any
		want        []string
	}{
		"no mark":                     {object{"a": "one"}, nil, nil},
		"false":                       {object{"a": "one"}, object{"a": false}, nil},
		"a number":                    {object{"c": object{"d": 4711.0}}, object{"c": object{"d": true}}, []string{"4711"}},
		"nothing, and a truth":        {object{"a": nil, "b": true}, object{"a": true, "b": true}, nil},
		"one of a list":               {object{"b": list{"two", "three"}}, object{"b": list{false, true}}, []string{"three"}},
		"a list that grew":            {object{"b": list{list{"first-1"}, list{"second-1"}}}, object{"b": list{true}}, []string{"first-1"}},
		"all of a list":               {object{"b": list{"create", "a-longer-text-1"}}, object{"b": true}, []string{"a-longer-text-1"}},
		"a tree of marks at a leaf":   {object{"a": "one"}, object{"a": object{"b": true}}, nil},
		"marked itself, like a word":  {object{"password": "backend"}, object{"password": true}, []string{"backend"}},
		"the name of a user":          {object{"user": "backend", "username": "backend"}, object{"user": true, "username": true}, nil},
		"a user like no word":         {object{"user": "backend2"}, object{"user": true}, []string{"backend2"}},
		"an identifier marked itself": {object{"access_key_id": "backend"}, object{"access_key_id": true}, nil},
		"a certificate":               {object{"ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, object{"ca": true}, nil},
		"a configuration":             {object{"config": config}, object{"config": true}, []string{config}},
		// Of what is marked as a whole, the secrets are.
		"a connection": {object{"connection": object{
			"user": "postgres", "password": "postgrespw", "host": "db.example.org", "port": json.Number("5432"), "ssl": true, "unknown": "word", "uri": uri,
		}}, object{"connection": true}, []string{"in-the-uri", "postgrespw"}},
		"keys":                      {object{"tokens": object{"tok-9f3k2j4d8a7": object{"name": "x"}}}, object{"tokens": true}, []string{"tok-9f3k2j4d8a7"}},
		"keys of what is not":       {object{"hosts": object{"vm-9f3k2j4d8a7": object{"pin": "1234"}}}, object{"hosts": object{"vm-9f3k2j4d8a7": object{"pin": true}}}, []string{"1234"}},
		"below a name for secrets":  {object{"passwords": object{"backend": "alice"}}, object{"passwords": true}, []string{"alice"}},
		"deep below such a name":    {object{"passwords": object{"prod": object{"app": list{"alice"}}}}, object{"passwords": true}, []string{"alice"}},
		"below, and marked in part": {object{"passwords": object{"prod": object{"app": "alice"}}}, object{"passwords": object{"prod": true}}, []string{"alice"}},
		"below another name":        {object{"people": object{"prod": object{"app": "alice"}}}, object{"people": true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			marked{found: &got}.collect(c.value, c.mark)
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A value in a value in a value costs no more than its length allows.
func TestDeepSensitiveValue(t *testing.T) {
	if testing.Short() {
		t.Skip("deep: it measures")
	}
	const depth = 4000
	state := `{"format_version":"1.0","values":{"outputs":{"o":{"sensitive":true,"value":` +
		strings.Repeat(`{"a":["`+strings.Repeat("secret-", 10)+`",`, depth) + "1" + strings.Repeat("]}", depth) + `}}}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := Sensitive([]byte(state))
	runtime.ReadMemStats(&after)
	if cost := (after.TotalAlloc - before.TotalAlloc) / uint64(len(state)); err != nil || cost > 100 || len(got) != 1 {
		t.Errorf("%d values for %d × the memory of their text, %v", len(got), cost, err)
	}
}

// What of an output that is all sensitive is secret.
func TestOutput(t *testing.T) {
	got := Output("uris", []byte(`{"backend":"postgres://backend:pw-of-backend@db.example.org:5432/app","port":5432}`))
	if diff := cmp.Diff([]string{"postgres://backend:pw-of-backend@db.example.org:5432/app"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Each digit counts.
	if diff := cmp.Diff([]string{"12345678901234567890"}, Output("pin", []byte("12345678901234567890"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Output("o", []byte("not JSON")); got != nil {
		t.Errorf("got %q", got)
	}
}
