// Package ovh is a simulated OVH API: as much of it as the ovh provider uses for managed
// PostgreSQL and DNS records, stateful, durable, and as slow to finish things as the real one. Its
// endpoints are tested with go-ovh, the client of the real provider.
//
// An operation that takes time is stored with the times of its steps, and each step is completed by
// the first request after its time.
package ovh

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A Cloud responds below the prefix with which it was opened.
type Cloud struct {
	// Pace is how long a cluster, a user or a restriction takes to reach a requested status. Set it
	// before the first request.
	Pace time.Duration

	prefix  string
	records *bolt.DB
	mux     *http.ServeMux
}

// Open creates a cloud on the file at path. It handles requests whose paths begin with prefix, such
// as /-/ovh.
func Open(path, prefix string) (*Cloud, error) {
	records, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, fmt.Errorf("open the ovh cloud: %w", err)
	}
	err = records.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(clusters)
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(zones)
		}
		if err == nil {
			err = certify(tx)
		}
		return err
	})
	if err != nil {
		records.Close()
		return nil, fmt.Errorf("furnish the ovh cloud: %w", err)
	}
	c := &Cloud{Pace: time.Second, prefix: prefix, records: records, mux: http.NewServeMux()}
	c.account()
	c.catalog()
	c.postgresql()
	c.dns()
	c.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, missing("Got an invalid (or empty) URL"))
	})
	return c, nil
}

func (c *Cloud) Close() error { return c.records.Close() }

func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// A call is a request with the transaction in which it is handled. A read-only request gets a
// read-only transaction.
type call struct {
	*http.Request
	tx   *bolt.Tx
	body []byte
	now  time.Time
}

// handle adds an endpoint that needs a signature. After an error, nothing that f wrote remains.
func (c *Cloud) handle(pattern string, f func(q call) (any, error)) {
	method, path, _ := strings.Cut(pattern, " ")
	c.mux.HandleFunc(method+" "+c.prefix+path, func(w http.ResponseWriter, r *http.Request) {
		body, err := c.answer(r, f)
		if err != nil {
			fail(w, err)
			return
		}
		reply(w, http.StatusOK, body)
	})
}

func (c *Cloud) answer(r *http.Request, f func(q call) (any, error)) (body any, err error) {
	q := call{Request: r, now: time.Now().UTC()}
	if q.body, err = io.ReadAll(io.LimitReader(r.Body, 1<<20)); err != nil {
		return nil, bad("the request ended early: %v", err)
	}
	if err := q.signed(); err != nil {
		return nil, err
	}
	if err := c.settle(q.now); err != nil {
		return nil, err
	}
	run := c.records.Update
	if r.Method == http.MethodGet {
		run = c.records.View
	}
	err = run(func(tx *bolt.Tx) error {
		q.tx = tx
		body, err = f(q)
		return err
	})
	return body, err
}

// read decodes the body into into. What the body does not contain stays as it is.
func (q call) read(into any) error {
	if len(q.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(q.body, into); err != nil {
		return bad("Invalid body: %v", err)
	}
	return nil
}

// A refusal is an error caused by the client.
type refusal struct {
	status         int
	class, message string
}

func (r refusal) Error() string { return r.message }

func bad(format string, values ...any) error {
	return refusal{http.StatusBadRequest, "Client::BadRequest", fmt.Sprintf(format, values...)}
}

func missing(format string, values ...any) error {
	return refusal{http.StatusNotFound, "Client::NotFound", fmt.Sprintf(format, values...)}
}

func conflict(format string, values ...any) error {
	return refusal{http.StatusConflict, "Client::Conflict", fmt.Sprintf(format, values...)}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// fail writes an error in the format of https://api.ovh.com/console/
func fail(w http.ResponseWriter, err error) {
	r := refusal{http.StatusInternalServerError, "Server::InternalServerError", err.Error()}
	errors.As(err, &r)
	reply(w, r.status, map[string]string{"class": r.class, "message": r.message})
}
