package sealedplan

import (
	"context"

	"slipway/internal/cluster"
	"slipway/internal/layer"
	"slipway/internal/manifest"
	"slipway/internal/run"
	"slipway/internal/state"
)

// A part is one of those of a sealed plan.
type part struct {
	*run.Run
	name     string // of the layer, or cluster.yaml
	fileName string
	key      string // of its plans in the store
}

func ofLayer(l *layer.Layer) part { return part{l.Run, l.Name, l.FileName(), l.Key} }

// folder returns the folder of the part in the results.
func (p part) folder() string { return "plan/" + p.fileName + "/" }

// kept returns the folder of the part in the bucket, named by the digest of its files.
func (p part) kept() string { return p.plans() + p.Inputs[len("sha256:"):] + "/" }

func (p part) plans() string { return "plans/" + p.key + "/" }

// claimKey returns the key of the object that ensures that a plan is applied only once.
func (p part) claimKey(m manifest.Manifest) string { return p.plans() + m.RunID + ".applied" }

// A Cluster is that of an environment, as far as its sealed plan depends on it.
type Cluster struct {
	*run.Run
	FromLayers bool // the outputs of the layers list its nodes
}

// No layer has the name of a file.
func (c Cluster) part() part {
	return part{c.Run, cluster.FileName, cluster.FileName, c.Env + "/" + cluster.FileName}
}

// bind returns what a plan of the cluster currently depends on.
func (c Cluster) bind(ctx context.Context, programs func() (map[string]string, error)) (b manifest.Bindings, err error) {
	tools, err := programs()
	if err != nil {
		return b, err
	}
	b = manifest.Bindings{Inputs: c.Inputs, Tools: map[string]string{"slipway": tools["slipway"]}}
	if !c.FromLayers {
		return b, nil
	}
	b.Upstream = map[string]state.Stamp{}
	for _, config := range c.Environment.Layers {
		if b.Upstream[c.Environment.LayerName(config)], err = c.StateStamp(ctx, c.Environment.StateKey(config)); err != nil {
			return b, err
		}
	}
	return b, nil
}
