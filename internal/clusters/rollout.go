package clusters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway/internal/cluster"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/hosts"
	"slipway/internal/journal"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/talosapi"
	"slipway/internal/wait"
)

// A Rollout changes the nodes of a cluster, one step after the other.
type Rollout struct {
	*Cluster
	Access *talosapi.Access
	Only   []rollout.Kind // kinds of steps that it takes; it ends before one of another kind
	Lost   bool           // the quorum of etcd is lost

	// Patience is how long it waits for one thing. Machines that install and start take minutes.
	Patience time.Duration

	Reviewed *Reviewed // the only plan that it carries out; nil: it may do what is needed
	Repeat   string    // the command that goes on if it is interrupted

	taken []rollout.Step
	book  *journal.Writer
	said  string
	last  State // as last seen

	unanswered int // steps without an answer, one after the other
}

// NewRollout makes a rollout that takes only these kinds of steps. The cluster has its secrets. ctx is that of the run.
func NewRollout(ctx context.Context, c *Cluster, only ...rollout.Kind) (*Rollout, error) {
	access, err := c.Access(ctx)
	return &Rollout{Cluster: c, Access: access, Only: only, Patience: 15 * time.Minute, Repeat: hold.Nodes(c.Run).Call(c.Result.Stage)}, err
}

// Check refuses, before anything is changed, a cluster that no rollout could change.
func (c *Cluster) Check() error {
	if err := c.NeedStore(); err != nil {
		return err
	}
	if c.jumps() {
		if _, err := hosts.NeedPrivateKey(c.Run); err != nil {
			return err
		}
	}
	for _, n := range c.Spec.Nodes {
		if _, err := c.Config(n); err != nil {
			return err
		}
	}
	return nil
}

// NeedStore refuses a change without a store, which has the lock of the nodes.
func (c *Cluster) NeedStore() error {
	if c.Store == nil {
		return fault.Refuse("$EDITOR environments/"+c.Env+"/environment.yaml", "the state of %s is not in a bucket, so nothing would keep two changes of its cluster apart", c.Env)
	}
	return nil
}

// ErrBefore means that a rollout ended before a step of a kind that it does not take.
var ErrBefore = errors.New("the next step is of another kind")

// Do takes steps until the cluster is as wanted, under the lock of its nodes. Every step is in the journal
// before it is taken, and is decided by what the nodes say at that moment: a run that is killed is repeated.
func (o *Rollout) Do(ctx context.Context) error {
	if err := o.Check(); err != nil {
		return err
	}
	return hold.Resume(ctx, hold.Nodes(o.Run), func(working context.Context, h *hold.Hold, others hold.Others) (clean bool, err error) {
		o.book = h.Journal
		for _, dead := range others.Dead {
			o.taken = append(o.taken, stepsOf(dead)...)
		}
		err = o.steps(working)
		if o.last.Nodes != nil && hold.Stopped(working) == nil {
			o.remember(context.WithoutCancel(ctx), o.last)
		}
		if err != nil && !errors.Is(err, ErrBefore) {
			return len(o.taken) == 0, err // the next run goes on from there
		}
		for _, dead := range others.Dead {
			err = errors.Join(err, journal.Remove(context.WithoutCancel(ctx), o.Store, dead))
		}
		return true, err
	})
}

// stepsOf returns the steps in the journal of an earlier run. An entry without a node is of a tool such as kubectl.
func stepsOf(dead journal.Run) (steps []rollout.Step) {
	for _, e := range dead.Entries {
		if e.Kind == journal.Start && e.Address != "" {
			s := rollout.Step{Kind: rollout.Kind(e.Action), Node: e.Address, Earlier: true}
			s.Boot, s.Service, _ = strings.Cut(e.ID, " ")
			steps = append(steps, s)
		}
	}
	return steps
}

// idOf is the ID of a step's entry in the journal.
func idOf(s rollout.Step) string { return strings.TrimSpace(s.Boot + " " + s.Service) }

func (o *Rollout) steps(ctx context.Context) error {
	w := waiter{patience: o.Patience}
	for {
		s, err := o.Observe(ctx, o.Access)
		if err != nil {
			return o.stopped(ctx, err)
		}
		o.last = s
		if o.Reviewed != nil {
			if err := o.Reviewed.refuse(o.Cluster, s); err != nil {
				return err
			}
		}
		situation := o.Situation(s, o.taken)
		situation.Lost = o.Lost
		a := rollout.Next(situation)
		switch a.Verdict {
		case rollout.Done:
			return nil
		case rollout.Refuse:
			return fault.Refuse("dagger call cluster status --env="+o.Env, "%s", a.Reason)
		case rollout.Wait:
			o.say("waiting: %s", a.Reason+o.because(s, a.Reason))
			switch err := w.wait(ctx, a.Reason); {
			case errors.Is(err, errImpatient):
				return fault.New(fault.Unreachable, "dagger call cluster status --env="+o.Env, "nothing has changed for %s: %s%s", o.Patience, a.Reason, o.because(s, a.Reason))
			case err != nil:
				return o.stopped(ctx, fmt.Errorf("%s", a.Reason))
			}
		case rollout.Go:
			if !slices.Contains(o.Only, a.Step.Kind) {
				return ErrBefore
			}
			o.say("%s", a.Reason)
			err := o.take(ctx, a.Step, s)
			if err == nil && o.unanswered > 0 {
				err = wait.For(ctx, shortest<<o.unanswered)
			}
			if err != nil {
				return o.stopped(ctx, err)
			}
			w = waiter{patience: o.Patience}
		}
	}
}

// because says why the node does not answer for which a rollout waits, if it does.
func (o *Rollout) because(s State, reason string) string {
	for _, n := range o.Spec.Nodes {
		if seen := s.Nodes[n.Name]; seen.API == rollout.Silent && strings.Contains(reason, n.Name+" does not answer") {
			return " (" + seen.Why + ")"
		}
	}
	return ""
}

// say prints what happens, once.
func (o *Rollout) say(format string, reason string) {
	if text := fmt.Sprintf(format, reason); text != o.said {
		o.said = text
		o.Say("%s", run.Word(text))
	}
}

// stopped says where a rollout was, if that is why it fails.
func (o *Rollout) stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if lost := hold.Stopped(ctx); lost != nil {
		return lost
	}
	return fault.New(fault.Interrupted, o.Repeat, "the change of the cluster was interrupted: %w", err)
}

// take records a step and takes it.
func (o *Rollout) take(ctx context.Context, step rollout.Step, s State) error {
	n := o.Spec.Nodes[slices.IndexFunc(o.Spec.Nodes, func(n cluster.Node) bool { return n.Name == step.Node })]
	wanted, err := o.Config(n)
	if err != nil {
		return err
	}
	if shown := s.Nodes[n.Name].Fingerprint; step.Kind == rollout.Configure && n.Fingerprint != "" && n.Fingerprint != shown {
		return fault.Refuse("compare it with the node's console, then: $EDITOR "+cluster.Path(o.Env), "%s shows a certificate with the fingerprint %s, not %s", n.Name, shown, n.Fingerprint)
	}
	if step.Kind == rollout.Change {
		if step.Restart, err = o.Access.Restarts(ctx, n.Address, wanted); err != nil {
			return o.failed(n, err)
		}
		if o.Reviewed != nil {
			if err := o.Reviewed.refuseRestart(step); err != nil {
				return err
			}
		}
	}
	if err := o.book.Keep(ctx, journal.Entry{Kind: journal.Start, Time: time.Now().UTC(), Address: n.Name, Action: string(step.Kind), ID: idOf(step)}); err != nil {
		return err
	}
	o.taken = append(o.taken, step)
	switch step.Kind {
	case rollout.Configure:
		err = o.Access.Configure(ctx, n.Address, s.Nodes[n.Name].Fingerprint, wanted)
		o.row(n.Name).Status = "configured"
	case rollout.Change:
		err = o.Access.Change(ctx, n.Address, wanted)
		row := o.row(n.Name)
		row.Status, row.Changes, row.Restarted = "changed", len(s.Changes[n.Name]), step.Restart
	case rollout.Bootstrap:
		var began bool
		if began, err = o.Access.Bootstrap(ctx, n.Address); began || err != nil {
			o.row(n.Name).Status = "bootstrapped"
		}
	}
	if err != nil {
		return o.failed(n, err)
	}
	o.unanswered = 0
	return nil
}

// failed says that a node refused a step. One that did not answer may have taken it: it is asked again a few
// times, and what it says then counts.
func (o *Rollout) failed(n cluster.Node, err error) error {
	if refused, ok := errors.AsType[*talosapi.RefusedError](err); ok {
		o.row(n.Name).Status = "failed"
		return fault.Fail("dagger call cluster logs --env="+o.Env+" --node="+n.Name+" --service=machined", "%s did not accept it: %w", n.Name, refused)
	}
	if o.unanswered++; o.unanswered < attempts {
		o.Say("%s: %v", n.Name, err)
		return nil
	}
	o.row(n.Name).Status = "failed"
	return fault.New(fault.Unreachable, "dagger call cluster status --env="+o.Env, "%s did not answer when it was given its step: %w", n.Name, err)
}

// attempts is how often a step without an answer is taken.
const attempts = 5

// Show says what was done to each node.
func (o *Rollout) Show() {
	for _, n := range o.Result.Nodes {
		text := n.Status
		if n.Status == "changed" {
			text = fmt.Sprintf("%d settings changed", n.Changes)
			if n.Changes == 1 {
				text = "1 setting changed"
			}
		}
		if n.Restarted {
			text += ", and it was restarted"
		}
		fmt.Fprintf(&o.Report, "%s: %s\n", n.Name, text)
	}
	if len(o.Result.Nodes) == 0 {
		fmt.Fprintf(&o.Report, "%s: nothing to do\n", o.Spec.Name)
	}
}

// row returns the result of a node.
func (o *Rollout) row(name string) *run.NodeResult {
	for i := range o.Result.Nodes {
		if o.Result.Nodes[i].Name == name {
			return &o.Result.Nodes[i]
		}
	}
	o.Result.Nodes = append(o.Result.Nodes, run.NodeResult{Name: name})
	return &o.Result.Nodes[len(o.Result.Nodes)-1]
}
