package hold

import (
	"context"
	"strings"

	"slipway/internal/cluster"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/journal"
	"slipway/internal/run"
)

// A Subject is something that one run at a time may change: the state of a layer, or the hosts or the
// nodes of an environment.
type Subject struct {
	Run  *run.Run
	Name string                    // in a sentence: test, or the hosts of test
	Is   string                    // at its beginning: the state of test is, or the hosts of test are
	Key  string                    // of its lock and its journals
	Call func(stage string) string // command that runs a stage on it, for a hint
	// Repair is the stage that is needed after a run that was interrupted. Empty: the next run repairs
	// what it finds.
	Repair string

	// What the run is about to do, for its journal.
	Commit, Inputs    string
	Creates, Replaces []string

	beside []Subject // what must not be changed at the same time
}

// State returns the state of a layer. Nobody may change it while a playbook works on the hosts, or while
// the nodes of a cluster are being changed.
func State(r *run.Run, config environment.Layer) Subject {
	s := ofLayer(r, config)
	if r.Environment.Deploy != nil {
		s.beside = append(s.beside, ofHosts(r))
	}
	if r.HasCluster() {
		s.beside = append(s.beside, ofNodes(r))
	}
	return s
}

// Hosts returns the hosts of an environment. Nobody may change them while their layers are being
// changed, or are not sound after a run that was interrupted.
func Hosts(r *run.Run) Subject {
	s := ofHosts(r)
	for _, config := range r.Environment.Layers {
		s.beside = append(s.beside, ofLayer(r, config))
	}
	return s
}

// Nodes returns the nodes of an environment's cluster. Nobody may change them while their layers are being
// changed, or are not sound after a run that was interrupted.
func Nodes(r *run.Run) Subject {
	s := ofNodes(r)
	for _, config := range r.Environment.Layers {
		s.beside = append(s.beside, ofLayer(r, config))
	}
	return s
}

func ofLayer(r *run.Run, config environment.Layer) Subject {
	name := r.Environment.LayerName(config)
	return Subject{
		Run: r, Name: name, Is: "the state of " + name + " is", Key: r.Environment.StateKey(config), Repair: "recover",
		Call: func(stage string) string { return r.CallOn(stage, name) },
	}
}

// No layer's state has the key of hosts, because those end in .tfstate.
func ofHosts(r *run.Run) Subject {
	name := "the hosts of " + r.Env
	return Subject{
		Run: r, Name: name, Is: name + " are", Key: r.Env + "/deploy.hosts",
		Call: func(stage string) string { return "dagger call " + stage + " --env=" + r.Env },
	}
}

func ofNodes(r *run.Run) Subject {
	name := "the nodes of " + r.Env
	return Subject{
		Run: r, Name: name, Is: name + " are", Key: r.Env + "/cluster.nodes",
		Call: func(stage string) string {
			stage = strings.Replace(strings.Replace(stage, "cluster-", "cluster ", 1), "flux-", "flux ", 1)
			if r.OnlyLayer == cluster.FileName {
				stage = "cluster " + stage
			}
			return "dagger call " + stage + " --env=" + r.Env
		},
	}
}

// RefuseBeside refuses to change a subject while a run works on something that must not change at
// the same time, or has left it unsound.
func RefuseBeside(ctx context.Context, s Subject) error {
	if s.Run.Store == nil {
		return nil
	}
	for _, other := range s.beside {
		o, err := RunsOn(ctx, other)
		if err != nil {
			return err
		}
		if len(o.Live) > 0 {
			return inUse(other, o.Live[0])
		}
		if err := refuseDead(other, o); err != nil {
			return err
		}
	}
	return nil
}

// RefuseUsed refuses while a run works on a subject.
func RefuseUsed(ctx context.Context, s Subject) error {
	if s.Run.Store == nil {
		return nil
	}
	o, err := RunsOn(ctx, s)
	if err != nil {
		return err
	}
	if len(o.Live) > 0 {
		return inUse(s, o.Live[0])
	}
	return nil
}

func inUse(s Subject, run journal.Run) error {
	return refuseLocked(s, "%s in use by %s", s.Is, DescribeRun(run))
}

func refuseDead(s Subject, o Others) error {
	if len(o.Dead) == 0 || s.Repair == "" {
		return nil
	}
	return fault.Refuse(s.Call(s.Repair), "%s was interrupted, and what it created may not be in the state of %s", DescribeRun(o.Dead[0]), s.Name)
}
