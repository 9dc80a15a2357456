package stage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/internal/plan"
	"slipway/internal/refusal"
	"slipway/internal/report"
	"slipway/internal/tofu"
)

// quiet is a session whose outputs are kept.
func quiet(t *testing.T, stage string) (s *session, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	s = &session{Options: Options{Environment: "prod", Out: t.TempDir(), Stdout: stdout, Stderr: stderr}, begun: time.Now(), mask: newMask()}
	s.result = Result{Version: 1, Stage: stage, Environment: "prod"}
	return s, stdout, stderr
}

// sinkForms are those in which a provider's message may hold a value.
var sinkForms = map[string]func(string) string{
	"as it is":  func(s string) string { return s },
	"JSON":      func(s string) string { data, _ := json.Marshal(s); return string(data) },
	"base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
	"query":     url.QueryEscape,
	"two lines": func(s string) string { return s[:9] + "\n  " + s[9:] },
	"base64 of base64": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	},
}

// TestSinks puts a secret, in each form, into all that a stage prints and leaves.
func TestSinks(t *testing.T) {
	const secret = "pä$$word/of \"prod\""
	for form, encode := range sinkForms {
		for _, stage := range []string{"plan", "apply"} {
			t.Run(stage+" "+form, func(t *testing.T) {
				s, stdout, stderr := quiet(t, stage)
				encoded := encode(secret)
				s.hide(secret)
				s.say("progress %s", encoded)
				s.say("progress %v", errors.New(encoded))
				s.report.WriteString("a line: " + encoded + "\n")
				summary := plan.Summary{
					Changes: []plan.Change{{Address: "x.a[" + quoted(encoded) + "]", Action: plan.Create, From: "x.b[" + quoted(encoded) + "]", Values: []plan.Value{{Path: "a", New: encoded}, {Path: "b", New: "x"}}}},
					Drift:   []plan.Drift{{Address: "x.d[" + quoted(encoded) + "]", Answered: true}},
				}
				s.layers = []report.Layer{{Name: "prod", Summary: summary, Warnings: []string{encoded}}}
				r := &root{session: s, name: "prod"}
				r.show(summary)
				r.showOutputs(tofu.Outputs{"o": {Value: json.RawMessage(quoted(encoded))}})
				r.complain(encoded)
				if code := s.end(refusal.New("hint "+encoded, "error %s", encoded)); code != BadInput {
					t.Errorf("code %d", code)
				}
				sinks := map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
				for _, name := range []string{"result.json", "summary.md", "summary.json"} {
					data, err := os.ReadFile(filepath.Join(s.Out, name))
					if err == nil {
						sinks[name] = string(data)
					}
					if optional := name == "summary.json" && stage != "plan"; err != nil && !optional {
						t.Error(err)
					}
				}
				for sink, text := range sinks {
					if !strings.Contains(text, "***") {
						t.Errorf("%s has no mask: %s", sink, text)
					}
					for n := 0; n+10 <= len(encoded); n++ {
						if strings.Contains(text, encoded[n:n+10]) {
							t.Fatalf("%s holds %q: %s", sink, encoded[n:n+10], text)
						}
					}
				}
			})
		}
	}
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// A credential that is called as an action, a field or a layer hides none of them.
func TestReportOfSecretsThatAreWords(t *testing.T) {
	s, stdout, stderr := quiet(t, "plan")
	words := []string{"create", "action", "address", "changes", "prod", "layers", "status", "version", "summary", "stage", "name", "main", "done"}
	s.hide(words...)
	summary := plan.Summary{Changes: []plan.Change{{Address: "x.main", Action: plan.Create}}}
	s.layers = []report.Layer{{Name: "prod", Summary: summary}}
	r := &root{session: s, name: "prod"}
	r.show(summary)
	r.event(nil)(tofu.Event{Type: tofu.ApplyStart, Hook: tofu.Hook{Action: "create", Resource: tofu.Resource{Address: "x.main"}}})
	s.end(nil)
	data, err := os.ReadFile(filepath.Join(s.Out, summaryName))
	if err != nil {
		t.Fatal(err)
	}
	var view report.Environment
	if err := json.Unmarshal(data, &view); err != nil || view.Name != "prod" || view.Layers[0].Summary.Changes[0].Action != plan.Create || view.Layers[0].Summary.Changes[0].Address != "x.main" {
		t.Errorf("summary.json is %s, %v", data, err)
	}
	var result Result
	data, _ = os.ReadFile(filepath.Join(s.Out, "result.json"))
	if err := json.Unmarshal(data, &result); err != nil || result.Stage != "plan" || result.Status != "done" {
		t.Errorf("result.json is %s, %v", data, err)
	}
	markdown, _ := os.ReadFile(filepath.Join(s.Out, "summary.md"))
	for where, text := range map[string]string{"summary.md": string(markdown), "stdout": stdout.String(), "stderr": stderr.String()} {
		if !strings.Contains(text, "create") || !strings.Contains(text, "x.main") || strings.Contains(text, "***") {
			t.Errorf("%s is %s", where, text)
		}
	}
}

// An output that is not sensitive is shown alike whether or not its value is already
// known to be marked elsewhere. A credential is masked in both.
func TestOpenOutputs(t *testing.T) {
	outputs := tofu.Outputs{
		"open":       {Value: json.RawMessage(`"born-in-the-state-1"`)},
		"encoded":    {Value: json.RawMessage(quoted(base64.StdEncoding.EncodeToString([]byte("born-in-the-state-2"))))},
		"connection": {Value: json.RawMessage(`"postgres://me:born-in-the-state-3@db.example.org/app"`)},
		"credential": {Value: json.RawMessage(`"a-credential-of-prod"`)},
		"hosts":      {Value: json.RawMessage(`{"local-backend":{"host":"db-1.example.org"}}`)},
		"sensitive":  {Sensitive: true, Value: json.RawMessage(`"born-in-the-state-4"`)},
	}
	var reports []string
	for _, marked := range [][]string{nil, {
		"born-in-the-state-1", "born-in-the-state-2", "born-in-the-state-3", "born-in-the-state-4", "a-credential-of-prod",
		`{"user":"backend","host":"db-1.example.org","password":"something-else"}`,
		"postgres://backend:something-else@db-1.example.org:5432/app",
	}} {
		s, stdout, _ := quiet(t, "apply")
		s.hide("a-credential-of-prod")
		s.hideMarked(marked...)
		r := &root{session: s, name: "prod"}
		r.showOutputs(outputs)
		s.end(nil)
		reports = append(reports, stdout.String())
	}
	if reports[0] != reports[1] {
		t.Errorf("first\n%s\nthen\n%s", reports[0], reports[1])
	}
	for _, want := range []string{"open = born-in-the-state-1", "born-in-the-state-3@db", "local-backend", "db-1.example.org", "credential = ***", "sensitive = (sensitive)"} {
		if !strings.Contains(reports[1], want) {
			t.Errorf("it does not say %q: %s", want, reports[1])
		}
	}
	// What no output shows stays hidden.
	s, stdout, _ := quiet(t, "apply")
	s.hideMarked("born-in-the-state-1", "born-in-the-state-4")
	(&root{session: s, name: "prod"}).showOutputs(outputs)
	s.report.WriteString("a line: born-in-the-state-4 born-in-the-state-1\n")
	s.end(nil)
	if got := stdout.String(); !strings.Contains(got, "a line: *** born-in-the-state-1\n") {
		t.Errorf("got %s", got)
	}
}

// What is marked as sensitive is masked at once, also in progress, and a report keeps the
// order in which it was written.
func TestMarked(t *testing.T) {
	s, stdout, stderr := quiet(t, "apply")
	s.hideMarked("born-in-the-state-1")
	s.say("%s", "it is born-in-the-state-1")
	if got := stderr.String(); got != "it is ***\n" {
		t.Errorf("it says %q", got)
	}
	part := func(text string) func(func(string) string) string {
		return func(mask func(string) string) string { return mask(text) }
	}
	s.report.WriteString("one\n")
	s.report.add(part("two is born-in-the-state-1\n"))
	s.report.add(part("three\n"))
	s.report.WriteString("four\n")
	s.end(nil)
	if got := stdout.String(); got != "one\ntwo is ***\nthree\nfour\n" {
		t.Errorf("it reports %q", got)
	}
}
