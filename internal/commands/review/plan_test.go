package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/report"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/workspace"
)

// The plan of a layer is shown, is part of the environment's and is sealed, also if it has to
// be made again.
func TestPropose(t *testing.T) {
	for after, note := range map[string]string{"": "", "net": "will be planned again when net has been applied"} {
		d := testkit.New(t)
		d.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
		d.Inputs, d.Dir = "sha256:"+strings.Repeat("a", 64), d.Path("repository")
		must.Do(t, workspace.Folder(d.Run).Make("plans", "repository"))
		must.Do(t, workspace.Folder(d.Run).Write(workspace.Inside(d.Run, d.PlanFile()), []byte("a plan")))
		p := &planning{sealer: sealedplan.Sealer{Programs: func() (map[string]string, error) { return nil, nil }}}
		loss := plan.Summary{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}}
		must.Do(t, p.propose(t.Context(), d.Layer, loss, after))
		d.Says("a.b")
		if text := d.Text(); strings.Contains(text, "test: will be") != (note != "") || !strings.Contains(text, note) {
			t.Errorf("it says %s", text)
		}
		if len(p.layers) != 1 || p.layers[0].Name != "test" || p.layers[0].Note != note || len(p.layers[0].Summary.Changes) != 1 {
			t.Errorf("layers %+v", p.layers)
		}
		if _, err := os.Stat(filepath.Join(d.Out, "plan/test/manifest.json")); err != nil {
			t.Errorf("it is not sealed: %v", err)
		}
	}
}

// A plan says what is to be done after its apply, and never that a host loses its power.
func TestSummarySaysWhatFollows(t *testing.T) {
	for name, c := range map[string]struct {
		environment *environment.Environment // nil: it could not be read
		playbook    bool
		checks      string
	}{
		"unread":  {},
		"neither": {environment: &environment.Environment{}},
		"both": {&environment.Environment{
			Deploy: &environment.Deploy{Playbook: "site.yml"},
			Verify: &environment.Verify{HTTPS: &environment.HTTPSCheck{}, Flow: &environment.FlowCheck{}, Reboot: &environment.RebootCheck{Host: "a"}},
		}, true, "https flow"},
		"a reboot only": {environment: &environment.Environment{Verify: &environment.Verify{Reboot: &environment.RebootCheck{Host: "a"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &planning{}
			r, _, _ := testkit.Quiet(t, run.Command{Name: "plan", Summary: p.summary})
			r.Environment = c.environment
			r.End(nil)
			data, err := os.ReadFile(filepath.Join(r.Out, report.FileName))
			must.Do(t, err)
			var e report.Environment
			must.Do(t, json.Unmarshal(data, &e))
			if e.Playbook != c.playbook || strings.Join(e.Checks, " ") != c.checks {
				t.Errorf("it says %s", data)
			}
		})
	}
}
