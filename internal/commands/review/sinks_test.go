package review

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/fault"
	"slipway/internal/layer"
	"slipway/internal/plan"
	"slipway/internal/report"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

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
				planned := &planning{}
				c := run.Command{Name: stage}
				if stage == "plan" {
					c.Summary = planned.summary
				}
				r, stdout, stderr := testkit.Quiet(t, c)
				encoded := encode(secret)
				r.Mask.Add(secret)
				r.Say("progress %s", encoded)
				r.Say("progress %v", errors.New(encoded))
				r.Report.WriteString("a line: " + encoded + "\n")
				summary := plan.Summary{
					Changes: []plan.Change{{Address: "x.a[" + testkit.Quoted(encoded) + "]", Action: plan.Create, From: "x.b[" + testkit.Quoted(encoded) + "]", Values: []plan.Value{{Path: "a", New: encoded}, {Path: "b", New: "x"}}}},
					Drift:   []plan.Drift{{Address: "x.d[" + testkit.Quoted(encoded) + "]", Answered: true}},
				}
				planned.layers = []report.Layer{{Name: "prod", Summary: summary, Warnings: []string{encoded}}}
				l := &layer.Layer{Run: r, Name: "prod"}
				l.Show(summary)
				l.ShowOutputs(tofu.Outputs{"o": {Value: json.RawMessage(testkit.Quoted(encoded))}})
				r.Complaints.WriteString(encoded)
				if code := r.End(fault.Refuse("hint "+encoded, "error %s", encoded)); code != run.BadInput {
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

// A credential that is called as an action, a field or a layer hides none of them.
func TestReportOfSecretsThatAreWords(t *testing.T) {
	planned := &planning{}
	r, stdout, _ := testkit.Quiet(t, run.Command{Name: "plan", Summary: planned.summary})
	words := []string{"create", "action", "address", "changes", "prod", "layers", "status", "version", "summary", "stage", "name", "main", "done"}
	r.Mask.Add(words...)
	summary := plan.Summary{Changes: []plan.Change{{Address: "x.main", Action: plan.Create}}}
	planned.layers = []report.Layer{{Name: "prod", Summary: summary}}
	l := &layer.Layer{Run: r, Name: "prod"}
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
	var result run.Result
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
