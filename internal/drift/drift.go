// Package drift judges whether an environment still is what its code says: what
// was changed in the cloud, behind OpenTofu's back, apart from code that has not
// been applied. It sees what a plan.Summary holds.
package drift

import (
	"slices"
	"time"

	"slipway/internal/environment"
	"slipway/internal/plan"
)

// A Status is what a check has found.
type Status string

const (
	Clean     Status = "clean"     // the environment is what its code says
	Drifted   Status = "drifted"   // it is not
	Unchecked Status = "unchecked" // nobody knows: the check failed
)

// A Check is what one look at an environment has found. It is what a check
// leaves in drift.json.
type Check struct {
	Version     int       `json:"version"` // 1
	Environment string    `json:"environment"`
	Status      Status    `json:"status"`
	Time        time.Time `json:"time"`
	Hits        int       `json:"hits"`            // checks in a row with this status
	After       int       `json:"after"`           // hits by which an issue is to open
	Error       string    `json:"error,omitempty"` // why it is unchecked; redacted
	Hint        string    `json:"hint,omitempty"`
	Layers      []Layer   `json:"layers,omitempty"`
	Expired     []string  `json:"expired,omitempty"` // addresses whose entries in the list of what is expected have ended
}

// A Layer is what was found in one.
type Layer struct {
	Name      string        `json:"name"`
	Cloud     []plan.Drift  `json:"cloud,omitempty"`     // changed in the cloud: an apply would change it back
	Unapplied []plan.Change `json:"unapplied,omitempty"` // changed in the code
	Outputs   []string      `json:"outputs,omitempty"`   // changed in the code
	Expected  []string      `json:"expected,omitempty"`  // addresses of changes in the cloud that are on the list
	Noted     []plan.Drift  `json:"noted,omitempty"`     // changed in the cloud, where the code says nothing
}

// Clean says that the layer is what its code says.
func (l Layer) Clean() bool { return len(l.Cloud)+len(l.Unapplied)+len(l.Outputs) == 0 }

// Judge sorts what a plan of the layer holds.
func Judge(layer string, summary plan.Summary, expected []environment.Ignore, now time.Time) Layer {
	found := Layer{Name: layer}
	changes := map[string]plan.Change{}
	for _, c := range summary.Changes {
		changes[c.Address] = c
	}
	for _, d := range summary.Drift {
		c, answered := changes[d.Address]
		// What the code says nothing of may change: a time, a label of the cloud's own.
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
	// Outputs follow what they are made of: they are the code's only if nothing else is.
	if len(found.Cloud)+len(found.Expected) == 0 {
		found.Outputs = summary.Outputs
	}
	return found
}

// unexpected takes away what is on the list; ok says that something is left.
func unexpected(d plan.Drift, c plan.Change, expected []environment.Ignore, now time.Time) (rest plan.Drift, ok bool) {
	for _, e := range expected {
		if e.Address != d.Address || e.Expired(now) {
			continue
		}
		if len(e.Attributes) == 0 {
			return d, false
		}
		if d.Deleted || c.Action != plan.Update {
			continue // that is more than these attributes
		}
		on := func(name string) bool { return slices.Contains(e.Attributes, name) }
		d.Attributes = slices.DeleteFunc(slices.Clone(d.Attributes), on)
		if len(d.Attributes) == 0 && len(slices.DeleteFunc(slices.Clone(c.Attributes), on)) == 0 {
			return d, false
		}
	}
	return d, true
}

// Conclude sets the status by what the layers hold.
func (c *Check) Conclude() {
	c.Status = Clean
	for _, l := range c.Layers {
		if !l.Clean() {
			c.Status = Drifted
		}
	}
}

// A Record is what is remembered between two checks.
type Record struct {
	Version int       `json:"version"` // 1
	Status  Status    `json:"status"`
	Hits    int       `json:"hits"`
	Time    time.Time `json:"time"` // of the last check
}

// Count sets how often in a row the status was found, by the record of the check
// before, and returns the new one.
func (c *Check) Count(before Record) Record {
	c.Hits = 1
	if before.Status == c.Status {
		c.Hits = before.Hits + 1
	}
	return Record{Version: 1, Status: c.Status, Hits: c.Hits, Time: c.Time}
}

// FileName is the file in which a check for drift leaves its Check for the issue.
const FileName = "drift.json"
