package ansible

import (
	"maps"
	"slices"
)

// A Record is what happened in a run of a playbook, as far as it is known.
type Record struct {
	Play     string // current or last one
	Task     string // current or last one
	Began    bool   // a task began: before that, nothing has been changed
	Complete bool   // the recap came: every host's results are known
	Hosts    map[string]*Stats
	Failures []Failure
	Changes  []Change

	Malformed int // events that could not be read
}

// A Failure is a task that failed on a host, or could not reach it.
type Failure struct {
	Host, Play, Task string
	Path             string // file:line of the task
	Reason           string
	Unreachable      bool
}

// A Change is a task that changed a host, or would.
type Change struct {
	Host, Task string
	Item       string // of a loop
	Diffs      []Diff
}

// Add adds an event.
func (r *Record) Add(e Event) {
	if r.Hosts == nil {
		r.Hosts = map[string]*Stats{}
	}
	switch e.Kind {
	case Malformed:
		r.Malformed++
	case PlayStart:
		r.Play, r.Task = e.Play.Name, ""
	case TaskStart, HandlerStart, HostStart:
		r.Began, r.Task = true, e.Task.Name
	case Recap:
		r.Complete = true
		for name, stats := range e.Stats {
			r.Hosts[name] = &stats
		}
	case OK, Failed, Unreachable:
		for _, name := range slices.Sorted(maps.Keys(e.Hosts)) {
			r.outcome(e, name, e.Hosts[name])
		}
	}
}

func (r *Record) outcome(e Event, host string, o Outcome) {
	stats := r.Hosts[host]
	if stats == nil {
		stats = &Stats{}
		r.Hosts[host] = stats
	}
	if e.Kind != OK {
		r.Failures = append(r.Failures, Failure{
			Host: host, Play: r.Play, Task: e.Task.Name, Path: e.Task.Path, Reason: o.Reason(), Unreachable: e.Kind == Unreachable,
		})
	}
	switch e.Kind {
	case Failed:
		stats.Failed++
	case Unreachable:
		stats.Unreachable++
	case OK:
		stats.OK++
		if o.Changed {
			stats.Changed++
			r.changed(e, host, o)
		}
	}
}

func (r *Record) changed(e Event, host string, o Outcome) {
	items := o.Results
	if len(items) == 0 {
		items = []Outcome{o}
	}
	for _, item := range items {
		if item.Changed {
			r.Changes = append(r.Changes, Change{Host: host, Task: e.Task.Name, Item: item.Label(), Diffs: readDiffs(item.Diff)})
		}
	}
}

// Fatal returns the failures that ended a host's run: not those that the playbook ignored or
// rescued.
func (r *Record) Fatal() []Failure {
	left := map[string]int{}
	for name, stats := range r.Hosts {
		left[name] = stats.Failed + stats.Unreachable
	}
	var fatal []Failure
	for _, f := range slices.Backward(r.Failures) {
		if left[f.Host] > 0 {
			left[f.Host]--
			fatal = append(fatal, f)
		}
	}
	slices.Reverse(fatal)
	return fatal
}
