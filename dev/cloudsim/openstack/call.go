package openstack

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A call is a request with the transaction in which it is handled. A read-only request gets a
// read-only transaction. The body is read beforehand, so that a slow client does not block others.
type call struct {
	*http.Request
	tx   *bolt.Tx
	body []byte
	now  time.Time
}

// An endpoint handles a call and returns a status and a value to encode as JSON. After an error,
// nothing that it wrote remains.
type endpoint func(q call) (status int, body any, err error)

// handle adds an endpoint that needs a token. pattern is a method and a path, as for a ServeMux;
// fail writes an error in the service's format.
func (c *Cloud) handle(pattern string, f endpoint, fail func(http.ResponseWriter, refusal)) {
	method, path, _ := strings.Cut(pattern, " ")
	c.mux.HandleFunc(method+" "+c.prefix+path, func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		known := c.tokens[r.Header.Get("X-Auth-Token")]
		c.mu.Unlock()
		if !known {
			failKeystone(w, refusal{status: http.StatusUnauthorized, message: "The request you have made requires authentication."})
			return
		}
		status, body, err := c.answer(r, f)
		var no refusal
		switch {
		case errors.As(err, &no):
			fail(w, no)
		case err != nil:
			fail(w, refusal{status: http.StatusInternalServerError, message: err.Error()})
		case body == nil:
			w.WriteHeader(status)
		default:
			reply(w, status, body)
		}
	})
}

// answer calls f in a transaction. The response is encoded after the transaction, so f must not
// return data that belongs to the transaction.
func (c *Cloud) answer(r *http.Request, f endpoint) (status int, body any, err error) {
	q := call{Request: r, now: time.Now().UTC()}
	if q.body, err = io.ReadAll(io.LimitReader(r.Body, 1<<20)); err != nil {
		return 0, nil, bad("The request ended early: %v", err)
	}
	if err := c.settle(q.now); err != nil {
		return 0, nil, err
	}
	run := c.records.Update
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		run = c.records.View
	}
	err = run(func(tx *bolt.Tx) error {
		q.tx = tx
		status, body, err = f(q)
		return err
	})
	return status, body, err
}

// read decodes the body's value under key into into. What the body does not contain stays as it is.
func (q call) read(key string, into any) error {
	var wrapped map[string]json.RawMessage
	if err := json.Unmarshal(q.body, &wrapped); err != nil || wrapped[key] == nil {
		return bad("Invalid input: the body is not a JSON object with %s", key)
	}
	if err := json.Unmarshal(wrapped[key], into); err != nil {
		return bad("Invalid input for %s: %v", key, err)
	}
	return nil
}
