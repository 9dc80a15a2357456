// Package openstack is a simulated OpenStack cloud: as much of its APIs as our
// modules use, stateful, durable and as slow to finish things as the real one. Its
// endpoints are driven by gophercloud, the client of the real provider.
//
// What takes time is written down with the moment at which it is over, and settled
// by the first request after that: there is no goroutine whose work a kill could
// lose.
package openstack

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A Cloud answers below the prefix that it was opened with, below that prefix with
// -metadata at its end, and at ServersPath.
type Cloud struct {
	// Pace is how long a server takes to become what it was asked to become. Set it
	// before the first request.
	Pace time.Duration

	prefix  string
	records *bolt.DB
	mux     *http.ServeMux

	mu     sync.Mutex
	tokens map[string]bool // that were issued; clients ask for a new one when it is unknown
}

// Open makes a cloud on the file at path. It answers requests whose paths begin
// with prefix, such as /-/openstack.
func Open(path, prefix string) (*Cloud, error) {
	records, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, fmt.Errorf("open the cloud: %w", err)
	}
	if err := records.Update(furnish); err != nil {
		records.Close()
		return nil, fmt.Errorf("furnish the cloud: %w", err)
	}
	c := &Cloud{Pace: time.Second, prefix: prefix, records: records, mux: http.NewServeMux(), tokens: map[string]bool{}}
	c.versions()
	c.identity()
	c.compute()
	c.image()
	c.network()
	c.metadata()
	return c, nil
}

func (c *Cloud) Close() error { return c.records.Close() }

func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }
