// Package openstack is a simulated OpenStack cloud: as much of its APIs as our modules use,
// stateful, durable, and as slow to finish things as the real one. Its endpoints are tested with
// gophercloud, the client of the real provider.
//
// An operation that takes time is stored with the time at which it ends, and completed by the first
// request after that: there is no goroutine whose work could be lost when the process is killed.
package openstack

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A Cloud responds below the prefix with which it was opened, below that prefix with -metadata
// appended, and at ServersPath.
type Cloud struct {
	// Pace is how long a server takes to reach a requested status. Set it before the first request.
	Pace time.Duration

	prefix  string
	records *bolt.DB
	mux     *http.ServeMux

	mu     sync.Mutex
	tokens map[string]bool // issued tokens; clients request a new one if theirs is unknown
}

// Open creates a cloud on the file at path. It handles requests whose paths begin with prefix, such
// as /-/openstack.
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
