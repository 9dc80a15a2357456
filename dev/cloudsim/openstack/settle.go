package openstack

import (
	"cmp"
	"net/http"
	"time"

	bolt "go.etcd.io/bbolt"

	"slipway/dev/cloudsim/faults"
)

// begin records that the server is performing a task, and the status after it: next, unless a fault
// rule wants another.
func (c *Cloud) begin(q call, s *server, status, task, next string) {
	s.Status, s.Task, s.Next, s.Due, s.Updated = status, task, next, q.now.Add(c.Pace), q.now.Truncate(time.Second)
	if next != "ERROR" {
		s.Fault = nil
	}
	// If no machine has the server, Nova need not wait for one. The provider relies on that: it
	// does not expect the statuses ERROR and SHELVED_OFFLOADED while a server is being deleted.
	if next == gone && (status == "SHELVED_OFFLOADED" || status == "ERROR" && s.Launched.IsZero()) {
		s.Due = q.now
	}
	if wanted := faults.Wanted(q.Context()); wanted["status"] != "" {
		s.Next = wanted["status"]
		s.Fault = &fault{http.StatusInternalServerError, s.Updated, cmp.Or(wanted["message"], "No valid host was found. There are not enough hosts available.")}
	}
}

// settle completes all operations that have ended by now.
func (c *Cloud) settle(now time.Time) error {
	due := func(s server) bool { return s.Next != "" && !now.Before(s.Due) }
	var some []server
	err := c.records.View(func(tx *bolt.Tx) (err error) {
		some, err = servers.where(tx, due)
		return err
	})
	if err != nil || len(some) == 0 {
		return err
	}
	return c.records.Update(func(tx *bolt.Tx) error {
		some, err := servers.where(tx, due) // another request may have been faster
		for _, s := range some {
			if err == nil {
				err = s.arrive(tx)
			}
		}
		return err
	})
}

// arrive gives the server the status that it was waiting for.
func (s *server) arrive(tx *bolt.Tx) error {
	if s.Next == gone {
		if err := s.release(tx); err != nil {
			return err
		}
		return servers.remove(tx, s.ID)
	}
	if s.Next == "ERROR" && s.Status == "BUILD" {
		if err := s.release(tx); err != nil {
			return err
		}
	}
	if s.Status == "BUILD" && s.Next != "ERROR" {
		s.Launched = s.Due
	}
	s.Status, s.Task, s.Next, s.Updated, s.Due = s.Next, "", "", s.Due.Truncate(time.Second), time.Time{}
	for _, a := range s.Interfaces {
		p, ok, err := ports.get(tx, a.PortID)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if p.Status = "DOWN"; s.Status == "ACTIVE" {
			p.Status = "ACTIVE"
		}
		if err := ports.put(tx, p.ID, p); err != nil {
			return err
		}
	}
	return servers.put(tx, s.ID, *s)
}

// release deletes the ports that were created with the server, and detaches the others.
func (s *server) release(tx *bolt.Tx) error {
	for _, a := range s.Interfaces {
		if err := a.release(tx); err != nil {
			return err
		}
	}
	s.Interfaces = nil
	return nil
}

func (a attachment) release(tx *bolt.Tx) error {
	p, ok, err := ports.get(tx, a.PortID)
	if err != nil || !ok {
		return err
	}
	if a.Made {
		if err := releaseFloatingIPs(tx, p.ID); err != nil {
			return err
		}
		return ports.remove(tx, p.ID)
	}
	p.DeviceID, p.DeviceOwner, p.Status = "", "", "DOWN"
	return ports.put(tx, p.ID, p)
}
