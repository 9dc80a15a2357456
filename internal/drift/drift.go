// Package drift judges whether an environment still matches its code: what was changed in the cloud
// outside of OpenTofu, as opposed to code that has not been applied. It only sees what a
// plan.Summary contains. The package clusters judges the nodes of a cluster in the same way.
package drift

import (
	"slices"
	"time"

	"slipway/internal/environment"
	"slipway/internal/plan"
)

// A Status is the result of a check.
type Status string

const (
	Clean     Status = "clean"     // the environment matches its code
	Drifted   Status = "drifted"   // it does not
	Unchecked Status = "unchecked" // unknown: the check failed
)

// A Check is the result of one drift check of an environment. It is written to drift.json.
type Check struct {
	Version     int       `json:"version"` // 1
	Environment string    `json:"environment"`
	Status      Status    `json:"status"`
	Time        time.Time `json:"time"`
	Hits        int       `json:"hits"`            // consecutive checks with this status
	After       int       `json:"after"`           // hits at which an issue opens
	Error       string    `json:"error,omitempty"` // why it is unchecked; redacted
	Hint        string    `json:"hint,omitempty"`
	Layers      []Layer   `json:"layers,omitempty"`
	Cluster     *Cluster  `json:"cluster,omitempty"` // nil: it has none, or nothing is known of it
	Hosts       []Host    `json:"hosts,omitempty"`   // what the playbook would change
	Expired     []string  `json:"expired,omitempty"` // addresses whose ignore entries have expired
}

// A Layer is the result for one layer.
type Layer struct {
	Name      string        `json:"name"`
	Cloud     []plan.Drift  `json:"cloud,omitempty"`     // changed in the cloud: an apply would revert it
	Unapplied []plan.Change `json:"unapplied,omitempty"` // changed in the code
	Outputs   []string      `json:"outputs,omitempty"`   // changed in the code
	Expected  []string      `json:"expected,omitempty"`  // addresses of ignored changes in the cloud
	Noted     []plan.Drift  `json:"noted,omitempty"`     // changed in the cloud, but not set by the code
}

// A Host is a task of the playbook that would change a host.
type Host struct {
	Name string `json:"name"`
	Task string `json:"task"`
	Item string `json:"item,omitempty"` // of a loop
}

// Clean reports whether the layer matches its code.
func (l Layer) Clean() bool { return len(l.Cloud)+len(l.Unapplied)+len(l.Outputs) == 0 }

// Judge sorts the contents of the layer's plan.
func Judge(layer string, summary plan.Summary, expected []environment.Ignore, now time.Time) Layer {
	found := Layer{Name: layer}
	changes := map[string]plan.Change{}
	for _, c := range summary.Changes {
		changes[c.Address] = c
	}
	for _, d := range summary.Drift {
		c, answered := changes[d.Address]
		// What the code does not set may change: a time, or a label that the cloud sets.
		if !answered {
			found.Noted = append(found.Noted, d)
			continue
		}
		delete(changes, d.Address)
		rest, ok := unexpected(d, c, expected, now)
		if !ok {
			found.Expected = append(found.Expected, d.Address)
			continue
		}
		found.Cloud = append(found.Cloud, rest)
	}
	for _, c := range summary.Changes {
		if _, left := changes[c.Address]; left {
			found.Unapplied = append(found.Unapplied, c)
		}
	}
	// Outputs follow from resources. They count as code changes only if nothing else explains them.
	if len(found.Cloud)+len(found.Expected) == 0 {
		found.Outputs = summary.Outputs
	}
	return found
}

// unexpected removes the ignored part of a change; ok means that something is left.
func unexpected(d plan.Drift, c plan.Change, expected []environment.Ignore, now time.Time) (rest plan.Drift, ok bool) {
	for _, e := range expected {
		if e.Address != d.Address || e.Expired(now) {
			continue
		}
		if len(e.Attributes) == 0 {
			return d, false
		}
		if d.Deleted || c.Action != plan.Update {
			continue // more than these attributes changed
		}
		on := func(name string) bool { return slices.Contains(e.Attributes, name) }
		d.Attributes = slices.DeleteFunc(slices.Clone(d.Attributes), on)
		if len(d.Attributes) == 0 && len(slices.DeleteFunc(slices.Clone(c.Attributes), on)) == 0 {
			return d, false
		}
	}
	return d, true
}

// Conclude sets the status from the layers, the cluster and the hosts.
func (c *Check) Conclude() {
	c.Status = Clean
	for _, l := range c.Layers {
		if !l.Clean() {
			c.Status = Drifted
		}
	}
	if len(c.Hosts) > 0 || !c.Cluster.Clean() {
		c.Status = Drifted
	}
}

// A Record is what is remembered between two checks.
type Record struct {
	Version int       `json:"version"` // 1
	Status  Status    `json:"status"`
	Hits    int       `json:"hits"`
	Time    time.Time `json:"time"` // time of the last check
}

// Count sets how many consecutive checks had this status, using the record of the previous check,
// and returns the new record.
func (c *Check) Count(before Record) Record {
	c.Hits = 1
	if before.Status == c.Status {
		c.Hits = before.Hits + 1
	}
	return Record{Version: 1, Status: c.Status, Hits: c.Hits, Time: c.Time}
}

// FileName is the file in which a drift check leaves its Check for the issue.
const FileName = "drift.json"
