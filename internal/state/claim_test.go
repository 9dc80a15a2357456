package state

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const stateKey = "test/net.tfstate"

func lockOf(id string) Lock {
	return (&Store{bucket: "state"}).NewLock(stateKey, id, "apply", "run-"+id, time.Unix(1, 0))
}

// puts has the first answers to conditional writes of the lock be these; 0 lets one through.
func puts(answers ...int) (wrap func(http.Handler) http.Handler, seen *atomic.Int32) {
	seen = &atomic.Int32{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".tflock") {
				if n := int(seen.Add(1)); n <= len(answers) && answers[n-1] != 0 {
					http.Error(w, "", answers[n-1])
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}, seen
}

func locked(t *testing.T, s *Store) string {
	t.Helper()
	lock, err := s.ReadLock(t.Context(), stateKey)
	if err != nil {
		t.Fatal(err)
	}
	if lock == nil {
		return ""
	}
	return lock.ID
}

func bucket(t *testing.T, wrap func(http.Handler) http.Handler) *Store {
	t.Helper()
	s := serve(t, wrap)
	if _, err := s.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Whoever gets the lock really has it, even if the store first says that the lock exists or that
// another write is in progress, and then the lock is gone.
func TestLockIsTaken(t *testing.T) {
	for name, answers := range map[string][]int{
		"at once":                                 {},
		"refused by a lock that is gone":          {http.StatusPreconditionFailed},
		"refused by a write that came to nothing": {http.StatusConflict, http.StatusConflict},
		"a store that fails first":                {http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrap, _ := puts(answers...)
			s := bucket(t, wrap)
			other, err := s.Lock(t.Context(), stateKey, lockOf("mine"))
			if err != nil || other != nil {
				t.Fatalf("got %v, %v", other, err)
			}
			if id := locked(t, s); id != "mine" {
				t.Errorf("the lock is %q", id)
			}
		})
	}
}

// A store that always says no, and never has the lock, gives an error and no lock.
func TestLockNeverTaken(t *testing.T) {
	t.Parallel()
	always := make([]int, 2*claimTries)
	for i := range always {
		always[i] = http.StatusConflict
	}
	wrap, seen := puts(always...)
	s := bucket(t, wrap)
	if other, err := s.Lock(t.Context(), stateKey, lockOf("mine")); err == nil || other != nil {
		t.Errorf("got %v, %v", other, err)
	}
	if n := seen.Load(); n != claimTries {
		t.Errorf("%d tries", n)
	}
}

func TestLockOfAnother(t *testing.T) {
	s := bucket(t, asItIs)
	if _, err := s.Lock(t.Context(), stateKey, lockOf("theirs")); err != nil {
		t.Fatal(err)
	}
	other, err := s.Lock(t.Context(), stateKey, lockOf("mine"))
	if err != nil || other == nil || other.ID != "theirs" || other.Who != "slipway@run-theirs" {
		t.Errorf("got %+v, %v", other, err)
	}
	if err := s.Unlock(t.Context(), stateKey, "mine"); err == nil || !strings.Contains(err.Error(), "theirs") {
		t.Errorf("somebody else's lock is removed: %v", err)
	}
	if id := locked(t, s); id != "theirs" {
		t.Errorf("the lock is %q", id)
	}
	if err := s.Unlock(t.Context(), stateKey, "theirs"); err != nil {
		t.Error(err)
	}
	if err := s.Unlock(t.Context(), stateKey, "theirs"); err != nil {
		t.Errorf("a lock that is gone: %v", err)
	}
}

// The lock was written, and the answer to that was lost: it is ours.
func TestLockWithLostAnswer(t *testing.T) {
	lost := false
	s := bucket(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".tflock") && !lost {
				lost = true
				next.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	other, err := s.Lock(t.Context(), stateKey, lockOf("mine"))
	if err != nil || other != nil || !lost {
		t.Errorf("got %v, %v; lost: %v", other, err, lost)
	}
}

// A request that the store never answers ends by itself.
func TestRequestsAreBounded(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer server.Close()
	defer close(hung)
	s := Open(S3{Bucket: "state", Endpoint: server.URL, Region: "test", AccessKey: "key", SecretKey: "secret", Timeout: 50 * time.Millisecond})
	if err := s.Create(t.Context(), "key", nil); err == nil {
		t.Error("it was created")
	}
}
