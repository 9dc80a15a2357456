package review

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/must"
	"slipway/internal/plan"
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
