// Package managed plays the managed services of the simulated cloud: a player is a container that
// runs PostgreSQL for the oldest managed cluster, and Pebble, which stands in for Let's Encrypt. The
// desk tells it what there is to play.
package managed

import (
	"encoding/json"
	"net"
	"net/http"
	"sync"

	"slipway/dev/cloudsim/ovh"
)

// Path is where a player asks what to play: GET Path + its name.
const Path = "/-/services/"

// An Assignment is what the player must play.
type Assignment struct {
	Cluster  *ovh.Instance     `json:"cluster"`  // nil: none
	Clusters []string          `json:"clusters"` // IDs of all clusters that exist
	Sources  map[string]string `json:"sources"`  // addresses in the cluster's network, by addresses of machines
}

// A Desk assigns the clusters. There is one player, of the oldest cluster that is available.
type Desk struct {
	// Clusters lists all clusters, oldest first.
	Clusters func() ([]ovh.Instance, error)
	// Sources returns Assignment.Sources for a network.
	Sources func(network string) (map[string]string, error)

	mu sync.Mutex
	at string // last known address of the player
}

// ServeHTTP tells the player what to play. It polls, and so the desk learns where it is.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	d.at = host
	d.mu.Unlock()
	assignment, err := d.assignment()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(assignment) // the player may be gone
}

func (d *Desk) assignment() (a Assignment, err error) {
	all, err := d.Clusters()
	if err != nil {
		return a, err
	}
	for _, one := range all {
		a.Clusters = append(a.Clusters, one.ID)
		if a.Cluster == nil && one.Available() {
			a.Cluster = &one
			if a.Sources, err = d.Sources(one.Network); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// At returns the player's address; empty: there is none yet.
func (d *Desk) At() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// Domains returns the names that lead to the player, besides that of the ACME server.
func (d *Desk) Domains() (names []string, err error) {
	all, err := d.Clusters()
	for _, one := range all {
		names = append(names, one.Domain)
	}
	return names, err
}
