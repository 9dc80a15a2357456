// Package memory serves HTTP without a network, for tests whose clock is testing/synctest's: a goroutine
// that waits for a socket would stop it.
package memory

import (
	"net/http"
	"net/http/httptest"
	"strconv"
)

// Transport answers each request by h, with its context: the handler sees that a client has given up.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context()) // as a server has it
	in.RequestURI = r.URL.RequestURI()
	if r.ContentLength >= 0 {
		in.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	recorded := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		defer in.Body.Close()
		t.ServeHTTP(w, in)
		recorded <- w
	}()
	select {
	case w := <-recorded:
		response := w.Result()
		response.Request = r
		return response, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
