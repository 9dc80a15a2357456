// Package openstack is a simulated OpenStack cloud: as much of its APIs as our
// modules use, stateful and durable. Its endpoints are driven by gophercloud, the
// client of the real provider.
package openstack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// A Cloud answers below the prefix that it was opened with.
type Cloud struct {
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
	c := &Cloud{prefix: prefix, records: records, mux: http.NewServeMux(), tokens: map[string]bool{}}
	c.identity()
	c.compute()
	return c, nil
}

func (c *Cloud) Close() error { return c.records.Close() }

func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// handle adds an endpoint that needs a token. Pattern is a method and a path, as
// the ServeMux takes them.
func (c *Cloud) handle(pattern string, f func(w http.ResponseWriter, r *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	c.mux.HandleFunc(method+" "+c.prefix+path, func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		known := c.tokens[r.Header.Get("X-Auth-Token")]
		c.mu.Unlock()
		if !known {
			fail(w, http.StatusUnauthorized, "The request you have made requires authentication.")
			return
		}
		f(w, r)
	})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// fail answers as https://docs.openstack.org/api-guide/compute/faults.html says.
func fail(w http.ResponseWriter, status int, message string) {
	kind := map[int]string{
		http.StatusBadRequest: "badRequest", http.StatusUnauthorized: "unauthorized",
		http.StatusNotFound: "itemNotFound", http.StatusConflict: "conflictingRequest",
	}[status]
	reply(w, status, map[string]any{kind: map[string]any{"code": status, "message": message}})
}

// A record is kept as JSON under its kind and name.

func (c *Cloud) put(kind, name string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return c.records.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(kind))
		if err != nil {
			return err
		}
		return b.Put([]byte(name), data)
	})
}

// get reads a record; ok is false if there is none.
func (c *Cloud) get(kind, name string, record any) (ok bool, err error) {
	err = c.records.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(kind))
		if b == nil {
			return nil
		}
		data := b.Get([]byte(name))
		if data == nil {
			return nil
		}
		ok = true
		return json.Unmarshal(data, record)
	})
	return ok, err
}

func (c *Cloud) remove(kind, name string) error {
	return c.records.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(kind))
		if b == nil {
			return nil
		}
		return b.Delete([]byte(name))
	})
}

// list returns the records of a kind, sorted by name.
func (c *Cloud) list(kind string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	err := c.records.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(kind))
		if b == nil {
			return nil
		}
		return b.ForEach(func(_, data []byte) error {
			all = append(all, append(json.RawMessage(nil), data...))
			return nil
		})
	})
	return all, err
}
