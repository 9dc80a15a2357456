package ovh

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"slipway/dev/cloudsim/faults"
)

// clusters is the bucket of the records: one for each cluster, under its id, with
// all that is in it.
var clusters = []byte("postgresql")

const (
	ready   = "READY"
	deleted = "DELETED" // nobody sees it
)

// A state is what something is, and what it will be at which times.
type state struct {
	Status string
	Ahead  []step
}

type step struct {
	Status string
	At     time.Time
}

// begin sets out for the last of the statuses: the first comes at once, the last
// when Pace is over. A rule of the faults may want another one.
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

// settle makes real what is over by now, and tells whether that was anything.
func (s *state) settle(now time.Time) bool {
	before := s.Status
	for len(s.Ahead) > 0 && !now.Before(s.Ahead[0].At) {
		s.Status, s.Ahead = s.Ahead[0].Status, s.Ahead[1:]
	}
	return s.Status != before
}

// Mend has every cluster become READY at once, also one that a rule of the faults
// keeps in CREATING or in ERROR: what OVH's support would do.
func (c *Cloud) Mend() error {
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

// settle brings the records to what they are now.
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

// settle brings the cluster and all that is in it to what they are now.
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

// where returns the clusters for which want is true, as want leaves them.
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

// cluster is the one that the path names.
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

// ready is the cluster that the path names, if something in it can be changed.
func (q call) ready() (cluster, error) {
	k, err := q.cluster()
	if err == nil && k.State.Status != ready {
		err = refusal{http.StatusConflict, "Client::Conflict", "Service " + k.ID + " is " + k.State.Status + " and not READY"}
	}
	return k, err
}
