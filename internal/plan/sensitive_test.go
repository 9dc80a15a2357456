package plan

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestMarked(t *testing.T) {
	value := map[string]any{
		"a": "one", "b": []any{"two", "three"}, "c": map[string]any{"d": 4.0}, "e": nil,
		// What is marked itself is secret, whatever it looks like, but for the name of a user.
		"password": "backend", "user": "backend2", "username": "backend",
		// Of what is marked as a whole, the secrets are.
		"connection": map[string]any{
			"user": "postgres", "password": "postgrespw", "host": "db.example.org", "port": json.Number("5432"), "ssl": true, "unknown": "word",
			"uri": "postgres://me:in-the-uri@db.example.org:5432/app", "tok-9f3k2j4d8a7": "x", "list": []any{"a-longer-text-1", "create"},
		},
		"passwords": map[string]any{"backend": "alice", "app_user": "not a word"},
		"ca":        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"config":    "{\"token\": \"in-json\", \"kind\": \"Config\"}",
	}
	mark := map[string]any{"b": []any{false, true}, "c": true, "password": true, "username": true, "user": true, "connection": true, "passwords": true, "ca": true, "config": true}
	var got []string
	marked{found: &got}.collect(value, mark)
	slices.Sort(got)
	want := []string{"a-longer-text-1", "alice", "backend", "backend2", "in-the-uri", "not a word", "postgrespw", "three", "tok-9f3k2j4d8a7", value["config"].(string)}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A value in a value in a value costs no more than its length allows.
func TestDeepSensitiveValue(t *testing.T) {
	const depth = 4000
	state := `{"format_version":"1.0","values":{"outputs":{"o":{"sensitive":true,"value":` +
		strings.Repeat(`{"a":["`+strings.Repeat("secret-", 10)+`",`, depth) + "1" + strings.Repeat("]}", depth) + `}}}}`
	begin := time.Now()
	got, err := Sensitive([]byte(state))
	if took := time.Since(begin); err != nil || took > time.Second || len(got) != 1 {
		t.Errorf("%d values after %v, %v", len(got), took, err)
	}
}

// What of an output that is all sensitive is secret.
func TestOutput(t *testing.T) {
	got := Output("uris", []byte(`{"backend":"postgres://backend:pw-of-backend@db.example.org:5432/app","port":5432}`))
	if diff := cmp.Diff([]string{"postgres://backend:pw-of-backend@db.example.org:5432/app"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Output("o", []byte("not JSON")); got != nil {
		t.Errorf("got %q", got)
	}
}
