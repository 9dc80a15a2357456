package review

import (
	"testing"

	"slipway/internal/clusters"
	"slipway/internal/environment"
	"slipway/internal/must"
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
	p := &planning{sealer: sealedplan.Sealer{Programs: func() (map[string]string, error) { return nil, nil }}}
	must.Do(t, p.proposeCluster(t.Context(), c, ""))
}
