package review

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/clusters"
	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
	"slipway/internal/testkit"
	"slipway/internal/testkit/machines"
)

// A plan asks the layers for a bastion if it is to ask the nodes, which takes the secrets of the machines.
func TestProposeBehind(t *testing.T) {
	testkit.WithoutTofu(t)
	m, d := machines.New(t, 1, "v1.14.1"), testkit.New(t)
	d.WithCode("")
	r := d.Opened()
	r.Environment.SSH = &environment.SSH{Jump: "gate"}
	c := &clusters.Cluster{Run: r, Spec: m.Spec, Secrets: m.Bundle, Listed: true}
	must.NotStarted(t, new(planning).proposeCluster(t.Context(), c, ""), "init")
	must.NotStarted(t, new(planning).proposeCluster(t.Context(), c, "net"), "init")
	c.Secrets = nil
	for after, want := range map[string]struct {
		listed, planned bool
		note            string
	}{
		"":     {listed: true, planned: true},
		"net":  {note: "will be planned again when net has been applied"},
		"base": {listed: true, planned: true},
	} {
		c.Listed, r.Changed, r.Result.Layers = want.listed, false, nil
		p := &planning{sealer: sealedplan.Sealer{Programs: func() (map[string]string, error) { return nil, nil }}}
		must.Do(t, p.proposeCluster(t.Context(), c, after))
		if len(p.layers) != 1 || p.layers[0].Name != "cluster.yaml" || r.Changed != want.planned || (len(r.Result.Layers) == 1) != want.planned {
			t.Fatalf("after %q: %+v", after, p.layers)
		}
		part := p.layers[0]
		if part.Summary.Empty() == want.planned || part.Note == "" || want.note != "" && part.Note != want.note {
			t.Errorf("after %q: %+v", after, part)
		}
		if want.planned && len(r.Result.Layers[0].Changes) == 0 {
			t.Errorf("after %q: %+v", after, r.Result.Layers[0])
		}
		if text := r.Report.Masked(func(text string) string { return text }); !strings.Contains(text, part.Note) {
			t.Errorf("after %q: it says %s", after, text)
		}
	}
}

// The result counts each kind of change of the nodes.
func TestRow(t *testing.T) {
	got := row(plan.Summary{Changes: []plan.Change{{Address: "a", Action: plan.Update}, {Address: "b", Action: plan.Update}, {Address: "c", Action: plan.Create}}})
	if diff := cmp.Diff(&run.LayerResult{Name: "cluster.yaml", Changes: map[string]int{"update": 2, "create": 1}}, got); diff != "" {
		t.Error(diff)
	}
}
