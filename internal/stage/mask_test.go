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

	"slipway/internal/plan"
	"slipway/internal/refusal"
	"slipway/internal/report"
	"slipway/internal/tofu"
)

// Quiet is a run whose outputs are kept.
func Quiet(t *testing.T, c Command) (r *Run, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return NewRun(c, Options{Env: "prod", Out: t.TempDir(), Stdout: stdout, Stderr: stderr}), stdout, stderr
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
				planned := &planRun{}
				c := Command{Name: stage}
				if stage == "plan" {
					c.Summary = planned.summary
				}
				r, stdout, stderr := Quiet(t, c)
				encoded := encode(secret)
				r.Mask.Add(secret)
				r.Say("progress %s", encoded)
				r.Say("progress %v", errors.New(encoded))
				r.Report.WriteString("a line: " + encoded + "\n")
				summary := plan.Summary{
					Changes: []plan.Change{{Address: "x.a[" + Quoted(encoded) + "]", Action: plan.Create, From: "x.b[" + Quoted(encoded) + "]"}},
					Drift:   []plan.Drift{{Address: "x.d[" + Quoted(encoded) + "]", Answered: true}},
				}
				planned.layers = []report.Layer{{Name: "prod", Summary: summary}}
				l := &Layer{Run: r, Name: "prod"}
				l.Show(summary)
				l.ShowOutputs(tofu.Outputs{"o": {Value: json.RawMessage(Quoted(encoded))}})
				r.Complaints.WriteString(encoded)
				if code := r.End(refusal.New("hint "+encoded, "error %s", encoded)); code != BadInput {
					t.Errorf("code %d", code)
				}
				sinks := map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
				for _, name := range []string{"result.json", "summary.md", "summary.json"} {
					data, err := os.ReadFile(filepath.Join(r.Out, name))
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

func Quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// A credential that is called as an action, a field or a layer hides none of them.
func TestReportOfSecretsThatAreWords(t *testing.T) {
	planned := &planRun{}
	r, stdout, _ := Quiet(t, Command{Name: "plan", Summary: planned.summary})
	words := []string{"create", "action", "address", "changes", "prod", "layers", "status", "version", "summary", "stage", "name", "main", "done"}
	r.Mask.Add(words...)
	summary := plan.Summary{Changes: []plan.Change{{Address: "x.main", Action: plan.Create}}}
	planned.layers = []report.Layer{{Name: "prod", Summary: summary}}
	l := &Layer{Run: r, Name: "prod"}
	l.Show(summary)
	r.End(nil)
	data, err := os.ReadFile(filepath.Join(r.Out, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	var view report.Environment
	if err := json.Unmarshal(data, &view); err != nil || view.Name != "prod" || view.Layers[0].Summary.Changes[0].Action != plan.Create || view.Layers[0].Summary.Changes[0].Address != "x.main" {
		t.Errorf("summary.json is %s, %v", data, err)
	}
	var result Result
	data, _ = os.ReadFile(filepath.Join(r.Out, "result.json"))
	if err := json.Unmarshal(data, &result); err != nil || result.Stage != "plan" || result.Status != "done" {
		t.Errorf("result.json is %s, %v", data, err)
	}
	markdown, _ := os.ReadFile(filepath.Join(r.Out, "summary.md"))
	for where, text := range map[string]string{"summary.md": string(markdown), "stdout": stdout.String()} {
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
		"encoded":    {Value: json.RawMessage(Quoted(base64.StdEncoding.EncodeToString([]byte("born-in-the-state-2"))))},
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
		r, stdout, _ := Quiet(t, Command{Name: "apply"})
		r.Mask.Add("a-credential-of-prod")
		r.Mask.AddMarked(marked...)
		l := &Layer{Run: r, Name: "prod"}
		l.ShowOutputs(outputs)
		r.End(nil)
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
	r, stdout, _ := Quiet(t, Command{Name: "apply"})
	r.Mask.AddMarked("born-in-the-state-1", "born-in-the-state-4")
	(&Layer{Run: r, Name: "prod"}).ShowOutputs(outputs)
	r.Report.WriteString("a line: born-in-the-state-4 born-in-the-state-1\n")
	r.End(nil)
	if got := stdout.String(); !strings.Contains(got, "a line: *** born-in-the-state-1\n") {
		t.Errorf("got %s", got)
	}
}

// What is marked as sensitive is masked at once, also in progress, and a report keeps the
// order in which it was written.
func TestMarked(t *testing.T) {
	r, stdout, stderr := Quiet(t, Command{Name: "apply"})
	r.Mask.AddMarked("born-in-the-state-1")
	r.Say("%s", "it is born-in-the-state-1")
	if got := stderr.String(); got != "it is ***\n" {
		t.Errorf("it says %q", got)
	}
	part := func(text string) func(func(string) string) string {
		return func(mask func(string) string) string { return mask(text) }
	}
	r.Report.WriteString("one\n")
	r.Report.Add(part("two is born-in-the-state-1\n"))
	r.Report.Add(part("three\n"))
	r.Report.WriteString("four\n")
	r.End(nil)
	if got := stdout.String(); got != "one\ntwo is ***\nthree\nfour\n" {
		t.Errorf("it reports %q", got)
	}
}

// Progress names what is done, though a credential is called the same, and a state that is told
// as an event is kept.
func TestEvent(t *testing.T) {
	r, _, stderr := Quiet(t, Command{Name: "apply"})
	r.Mask.Add("create", "main", "prod")
	l := &Layer{Run: r, Name: "prod"}
	l.Event(tofu.Event{Type: tofu.ApplyStart, Hook: tofu.Hook{Action: "create", Resource: tofu.Resource{Address: "x.main"}}})
	l.Event(tofu.Event{Type: "log", State: json.RawMessage(`{"serial":1}`)})
	l.Event(tofu.Event{Type: "log"})
	if got := stderr.String(); got != "prod: x.main create …\n" || string(l.Dumped) != `{"serial":1}` {
		t.Errorf("it says %q and keeps %s", got, l.Dumped)
	}
}
