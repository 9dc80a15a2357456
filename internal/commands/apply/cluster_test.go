package apply

import (
	"slices"
	"testing"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
	"slipway/internal/testkit/bastion"
	"slipway/internal/testkit/machines"
)

// The bastion is the one that the apply of the layers has just created. An apply of the cluster alone asks the layers
// for it.
func TestFindBastion(t *testing.T) {
	testkit.WithoutTofu(t)
	m, b, d := machines.New(t, 1, "v1.14.1"), bastion.New(t), testkit.New(t)
	d.WithCode("ssh: {jump: gate}\n")
	r := d.Opened()
	r.Credentials[secrets.OperatorKey] = b.PEM
	part := func() *clusterPart {
		return &clusterPart{Cluster: &clusters.Cluster{Run: r, Spec: m.Spec, Secrets: m.Bundle, Listed: true}}
	}
	c := part()
	must.Do(t, c.findNodes(t.Context(), made{{layer: d.Layer, outputs: b.Outputs(t)}}))
	access, err := c.Access(t.Context())
	must.Do(t, err)
	s, err := c.Observe(t.Context(), access)
	must.Do(t, err)
	if n := b.Logins(); n != 1 || s.Nodes["a"].Fingerprint != m.Machine("a").Fingerprint() {
		t.Errorf("%d logins, and a is %+v", n, s.Nodes["a"])
	}
	r.OnlyLayer = cluster.FileName
	must.NotStarted(t, part().findNodes(t.Context(), nil), "init")
	r.Environment.SSH = &environment.SSH{Proxy: "http://proxy.example.org:3128"}
	must.Do(t, part().findNodes(t.Context(), nil))
}

// A bastion that up has just created is up before the nodes behind it are asked.
func TestStages(t *testing.T) {
	var names []string
	for _, s := range stages {
		names = append(names, s.name)
	}
	if want := []string{"bootstrap", "apply", "wait", "cluster", "deploy", "health", "flux", "verify"}; !slices.Equal(names, want) {
		t.Errorf("up has the stages %q", names)
	}
}
