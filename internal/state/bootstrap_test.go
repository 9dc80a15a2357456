package state

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"slipway/internal/fault"
)

// serve starts an S3 store in memory behind wrap.
func serve(t *testing.T, wrap func(http.Handler) http.Handler, options ...gofakes3.Option) *Store {
	t.Helper()
	server := httptest.NewServer(wrap(gofakes3.New(s3mem.New(), options...).Server()))
	t.Cleanup(server.Close)
	return Open(S3{Bucket: "state", Endpoint: server.URL, Region: "test", AccessKey: "key", SecretKey: "secret"})
}

func asItIs(h http.Handler) http.Handler { return h }

func TestBootstrap(t *testing.T) {
	s := serve(t, asItIs)
	for _, want := range []Bootstrapped{{Created: true, Versions: true}, {Versions: true}} {
		got, err := s.Bootstrap(t.Context())
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// A store without versioning is used, and the caller is informed.
func TestBootstrapWithoutVersions(t *testing.T) {
	got, err := serve(t, asItIs, gofakes3.WithoutVersioning()).Bootstrap(t.Context())
	if want := (Bootstrapped{Created: true}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// ignoring is a store that knows nothing of If-None-Match.
func ignoring(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("If-None-Match")
		next.ServeHTTP(w, r)
	})
}

// racing is a store that looks first and writes later: right for one writer,
// wrong for two at once.
func racing(next http.Handler) http.Handler {
	var lock sync.Mutex
	there, looked, all := map[string]bool{}, map[string]int{}, make(chan struct{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && r.Header.Get("If-None-Match") != "" {
			r.Header.Del("If-None-Match")
			lock.Lock()
			refused := there[r.URL.Path]
			if looked[r.URL.Path]++; looked[r.URL.Path] == probeWriters {
				close(all)
			}
			lock.Unlock()
			if refused {
				http.Error(w, "", http.StatusPreconditionFailed)
				return
			}
			<-all
			lock.Lock()
			there[r.URL.Path] = true
			lock.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// late is a store that takes the condition for the first few writes only.
func late(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && r.ContentLength == 0 {
			r.Header.Del("If-None-Match")
		}
		next.ServeHTTP(w, r)
	})
}

// stale is a store that for a while returns what was there before.
func stale(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "slipway-probe") {
			_, _ = w.Write([]byte("writer 99"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func TestBootstrapRefusesUnsafeStores(t *testing.T) {
	for name, c := range map[string]struct {
		store func(http.Handler) http.Handler
		want  string
	}{
		"one that ignores If-None-Match": {ignoring, "of 8 concurrent writers create the same object"},
		"one that looks and then writes": {racing, "of 8 concurrent writers create the same object"},
		"one that forgets the condition": {late, "let a conditional write overwrite an existing object"},
		"one that is not consistent":     {stale, "did not return the content that was just written"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.store)
			_, err := s.Bootstrap(t.Context())
			r, ok := fault.Refusal(err)
			if !ok || !strings.Contains(r.Error(), "the store at "+s.endpoint+" cannot be used for locks") || !strings.Contains(r.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A store that cannot be reached is an error, and no verdict on the store.
func TestBootstrapUnreachable(t *testing.T) {
	s := Open(S3{Bucket: "state", Endpoint: "http://127.0.0.1:1", Region: "test", AccessKey: "key", SecretKey: "canary-secret"})
	_, err := s.Bootstrap(t.Context())
	if err == nil || fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "bucket state at 127.0.0.1:1") || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}
