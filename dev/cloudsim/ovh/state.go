package ovh

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"slipway/dev/cloudsim/faults"
)

// clusters is the bucket of the records: one for each cluster, under its ID, with everything in it.
var clusters = []byte("postgresql")

const (
	ready   = "READY"
	deleted = "DELETED" // invisible to clients
)

// A state is the current status of something, and its next ones with their times.
type state struct {
	Status string
	Ahead  []step
}

type step struct {
	Status string
	At     time.Time
}

// begin starts an operation that goes through the statuses: the first applies immediately, the last
// when Pace is over. A fault rule may want another last status.
func (c *Cloud) begin(q call, s *state, statuses ...string) {
	*s = state{Status: statuses[0]}
	for i, status := range statuses[1:] {
		at := q.now.Add(c.Pace * time.Duration(i+1) / time.Duration(len(statuses)-1))
		s.Ahead = append(s.Ahead, step{status, at})
	}
	if wanted := faults.Wanted(q.Context())["status"]; wanted != "" {
		s.Ahead[len(s.Ahead)-1].Status = wanted
	}
}

// settle completes what has ended by now, and reports whether anything changed.
func (s *state) settle(now time.Time) bool {
	before := s.Status
	for len(s.Ahead) > 0 && !now.Before(s.Ahead[0].At) {
		s.Status, s.Ahead = s.Ahead[0].Status, s.Ahead[1:]
	}
	return s.Status != before
}

// Repair makes every cluster READY immediately, even one that a fault rule keeps in CREATING or in
// ERROR, as OVH's support would.
func (c *Cloud) Repair() error {
	return c.records.Update(func(tx *bolt.Tx) error {
		all, err := where(tx, func(k *cluster) bool { return k.State.Status != "DELETING" })
		for _, k := range all {
			k.State = state{Status: ready}
			for i := range k.Restrictions {
				k.Restrictions[i].State = k.State
			}
			if err == nil {
				err = k.put(tx)
			}
		}
		return err
	})
}

// settle updates the records to the current time.
func (c *Cloud) settle(now time.Time) error {
	due := func(tx *bolt.Tx) ([]cluster, error) {
		return where(tx, func(k *cluster) bool { return k.settle(now) })
	}
	var some []cluster
	err := c.records.View(func(tx *bolt.Tx) (err error) {
		some, err = due(tx)
		return err
	})
	if err != nil || len(some) == 0 {
		return err
	}
	return c.records.Update(func(tx *bolt.Tx) error {
		some, err := due(tx) // another request may have been faster
		for _, k := range some {
			if err == nil {
				err = k.put(tx)
			}
		}
		return err
	})
}

// settle updates the cluster and everything in it to the current time.
func (k *cluster) settle(now time.Time) bool {
	changed := k.State.settle(now)
	for i := range k.Users {
		changed = k.Users[i].State.settle(now) || changed
	}
	for i := range k.Databases {
		changed = k.Databases[i].State.settle(now) || changed
	}
	for i := range k.Restrictions {
		changed = k.Restrictions[i].State.settle(now) || changed
	}
	k.Users = slices.DeleteFunc(k.Users, func(u user) bool { return u.State.Status == deleted })
	k.Databases = slices.DeleteFunc(k.Databases, func(d database) bool { return d.State.Status == deleted })
	k.Restrictions = slices.DeleteFunc(k.Restrictions, func(r restriction) bool { return r.State.Status == deleted })
	return changed
}

func (k *cluster) put(tx *bolt.Tx) error {
	if k.State.Status == deleted {
		return tx.Bucket(clusters).Delete([]byte(k.ID))
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return tx.Bucket(clusters).Put([]byte(k.ID), data)
}

// where returns the clusters for which want is true, with the changes that want made.
func where(tx *bolt.Tx, want func(*cluster) bool) ([]cluster, error) {
	found := []cluster{}
	err := tx.Bucket(clusters).ForEach(func(_, data []byte) error {
		var k cluster
		if err := json.Unmarshal(data, &k); err != nil {
			return err
		}
		if want(&k) {
			found = append(found, k)
		}
		return nil
	})
	return found, err
}

// cluster returns the cluster in the path.
func (q call) cluster() (k cluster, err error) {
	data := q.tx.Bucket(clusters).Get([]byte(q.PathValue("cluster")))
	if data != nil {
		err = json.Unmarshal(data, &k)
	}
	if err == nil && (data == nil || k.Service != q.PathValue("service")) {
		err = missing("Service %s not found", q.PathValue("cluster"))
	}
	return k, err
}

// ready returns the cluster in the path if its content can be changed.
func (q call) ready() (cluster, error) {
	k, err := q.cluster()
	if err == nil && k.State.Status != ready {
		err = refusal{http.StatusConflict, "Client::Conflict", "Service " + k.ID + " is " + k.State.Status + " and not READY"}
	}
	return k, err
}
