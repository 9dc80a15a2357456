package sealedplan

import (
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/layer"
	"slipway/internal/manifest"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/state"
)

// The plan of a cluster is sealed, found and opened as that of a layer is, and one digest is of both.
func TestSealCluster(t *testing.T) {
	d := planning(t)
	d.sealer.Keep = true
	c := &Cluster{Run: d.Run}
	change := plan.Summary{Changes: []plan.Change{{Address: "a", Action: plan.Update}}}
	must.Do(t, d.sealer.Seal(t.Context(), d.Layer, aLoss, ""))
	must.Do(t, d.sealer.SealCluster(t.Context(), *c, []byte("plan of the nodes"), change, ""))
	layers := []*layer.Layer{d.Layer}
	found, err := d.source.Find(t.Context(), d.Run, layers, c)
	must.Do(t, err)
	if found.Digest != d.sealer.Digest(d.Run) || found.Cluster.Layer != "cluster.yaml" || !found.Cluster.Changes || len(found.Layers) != 1 {
		t.Errorf("found %+v", found)
	}
	if data, err := d.source.Open(d.Run, found.Cluster); err != nil || string(data) != "plan of the nodes" {
		t.Errorf("it is %q, %v", data, err)
	}
	alone, err := d.source.Find(t.Context(), d.Run, nil, c)
	must.Do(t, err)
	without, err := d.source.Find(t.Context(), d.Run, layers, nil)
	must.Do(t, err)
	if alone.Digest == found.Digest || without.Digest == found.Digest || alone.Digest == without.Digest {
		t.Errorf("the digests are %s, %s and %s", found.Digest, alone.Digest, without.Digest)
	}
	d.source.Digest = found.Digest
	_, err = d.source.Find(t.Context(), d.Run, nil, c)
	must.Refuse(t, err, "the plan of test, made by run me at ", "dagger call plan --env=test --keep")
	d.source.Digest = ""
	d.Inputs = "sha256:" + strings.Repeat("b", 64)
	_, err = d.source.Find(t.Context(), d.Run, nil, c)
	must.Refuse(t, err, "there is no plan of cluster.yaml in bucket state", "dagger call plan --env=test --keep")
}

// A plan of a cluster depends on the files and the runner, and on the layers only if they list the nodes.
func TestClusterBindings(t *testing.T) {
	d := planning(t)
	d.Environment.Layers = []environment.Layer{{Path: "net"}, {Path: "app"}}
	programs := func() (map[string]string, error) {
		return map[string]string{"tofu": "sha256:1", "slipway": "sha256:2"}, nil
	}
	d.sealer.Programs, d.source.Programs = programs, programs
	for _, from := range []bool{false, true} {
		c := &Cluster{Run: d.Run, FromLayers: from}
		d.sealer.Keep = true
		must.Do(t, d.Store.Write(t.Context(), "test/app.tfstate", []byte(`{"serial":4,"lineage":"line","encrypted_data":"x"}`)))
		must.Do(t, d.sealer.SealCluster(t.Context(), *c, []byte("a plan"), plan.Summary{}, ""))
		found, err := d.source.Find(t.Context(), d.Run, nil, c)
		must.Do(t, err)
		b := found.Cluster.Bindings
		if b.Inputs != d.Inputs || len(b.Tools) != 1 || b.Tools["slipway"] != "sha256:2" || (len(b.Upstream) == 2 && b.Upstream["app"].Serial == 4) != from {
			t.Errorf("%+v", b)
		}
		must.Do(t, d.Store.Write(t.Context(), "test/app.tfstate", []byte(`{"serial":5,"lineage":"line","encrypted_data":"x"}`)))
		if _, err = d.source.Find(t.Context(), d.Run, nil, c); from {
			must.Refuse(t, err, "since the plan of cluster.yaml was made, the state of layer app has changed", "dagger call plan --env=test --keep")
		} else {
			must.Do(t, err)
		}
	}
	d.source.Programs = func() (map[string]string, error) { return map[string]string{"slipway": "sha256:3"}, nil }
	_, err := d.source.Find(t.Context(), d.Run, nil, &Cluster{Run: d.Run})
	must.Refuse(t, err, "since the plan of cluster.yaml was made, the program slipway has changed", "")
	must.Do(t, d.Store.Write(t.Context(), "test/app.tfstate", []byte("x")))
	if err := d.sealer.SealCluster(t.Context(), Cluster{Run: d.Run, FromLayers: true}, nil, plan.Summary{}, ""); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v", err)
	}
}

// The part of a layer is no part of a cluster, whoever renames it.
func TestClusterIsNoLayer(t *testing.T) {
	d := planning(t)
	d.sealer.Keep = true
	must.Do(t, d.sealer.Seal(t.Context(), d.Layer, aLoss, ""))
	c := Cluster{Run: d.Run}
	for _, name := range []string{manifestName, planName} {
		data, err := d.Store.Read(t.Context(), ofLayer(d.Layer).kept()+name)
		must.Do(t, err)
		must.Do(t, d.Store.Write(t.Context(), c.part().kept()+name, data))
	}
	_, err := d.source.Find(t.Context(), d.Run, nil, &c)
	must.Refuse(t, err, "the plan is for layer test, not cluster.yaml", "dagger call plan --env=test --keep")
	// One that has to be planned again has no plan.
	must.Do(t, d.sealer.SealCluster(t.Context(), c, nil, plan.Summary{}, "net"))
	found, err := d.source.Find(t.Context(), d.Run, nil, &c)
	if err != nil || found.Cluster.After != "net" || found.Cluster.Plan != "" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := manifest.Open(found.Cluster.data, d.Credentials[state.Passphrase]); err != nil {
		t.Error(err)
	}
}
