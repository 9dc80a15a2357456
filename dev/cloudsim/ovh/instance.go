package ovh

import (
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// An Instance is a cluster with what a program needs to know that runs a real PostgreSQL for it.
type Instance struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Status       string            `json:"status"`
	Version      string            `json:"version"`
	Domain       string            `json:"domain"`
	Port         int               `json:"port"`
	Network      string            `json:"network"` // ID of the private network; empty: the public one
	Certificates Certificates      `json:"certificates"`
	Settings     map[string]string `json:"settings"`
	Users        []Login           `json:"users"`
	Databases    []Database        `json:"databases"`
	Sources      []string          `json:"sources"` // networks that may connect
	Created      time.Time         `json:"created"`
}

// A Login is a user of a cluster.
type Login struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Verifier      string `json:"verifier"` // of its password; empty: it has none
	Replication   bool   `json:"replication"`
	Administrator bool   `json:"administrator"`
}

// A Database is one in a cluster.
type Database struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Available reports whether the cluster has been created and is not being deleted.
func (i Instance) Available() bool {
	return i.Status != "PENDING" && i.Status != "CREATING" && i.Status != "DELETING"
}

// Instances lists all clusters, oldest first. What is being created in one is already in the list,
// and what is being deleted no longer is: a client waits until the API reports the end.
func (c *Cloud) Instances() ([]Instance, error) {
	if err := c.settle(time.Now().UTC()); err != nil {
		return nil, err
	}
	list := []Instance{}
	err := c.records.View(func(tx *bolt.Tx) error {
		all, err := where(tx, func(*cluster) bool { return true })
		for _, k := range all {
			list = append(list, k.instance())
		}
		return err
	})
	slices.SortStableFunc(list, func(a, b Instance) int { return a.Created.Compare(b.Created) })
	return list, err
}

func (k *cluster) instance() Instance {
	i := Instance{
		ID: k.ID, Name: k.Description, Status: k.State.Status, Version: k.Version, Domain: k.domain(), Port: port, Network: k.Network,
		Certificates: k.Certificates, Settings: k.Advanced, Created: k.Created,
	}
	const leaving = "DELETING"
	for _, u := range k.Users {
		if u.State.Status != leaving {
			i.Users = append(i.Users, Login{u.ID, u.Name, u.Verifier, slices.Contains(u.Roles, "replication"), u.Name == administrator})
		}
	}
	for _, d := range k.Databases {
		if d.State.Status != leaving {
			i.Databases = append(i.Databases, Database{d.ID, d.Name})
		}
	}
	for _, r := range k.Restrictions {
		if r.State.Status != leaving {
			i.Sources = append(i.Sources, r.IP)
		}
	}
	return i
}
