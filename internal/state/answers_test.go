package state

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"slipway/internal/fault"
)

// answering is a store whose answer to requests that match is chosen.
func answering(match func(*http.Request) bool, status int, code string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(status)
			_ = xml.NewEncoder(w).Encode(struct {
				XMLName xml.Name `xml:"Error"`
				Code    string
			}{Code: code})
		})
	}
}

func isBucket(method string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.Trim(r.URL.Path, "/") == "state" && r.URL.RawQuery == ""
	}
}

// Outside of Amazon's first region, a new bucket says where it is to be.
func TestBootstrapRegion(t *testing.T) {
	for region, want := range map[string]string{"": "", "us-east-1": "", "eu-west-par": "eu-west-par"} {
		var body string
		var made atomic.Bool
		s := serve(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if isBucket(http.MethodPut)(r) {
					data, _ := io.ReadAll(r.Body)
					body = string(data)
					made.Store(true)
					r.Body = http.NoBody
					r.ContentLength = 0
				}
				next.ServeHTTP(w, r)
			})
		})
		c := S3{Bucket: "state", Endpoint: "http://" + s.endpoint, Region: region, AccessKey: "key", SecretKey: "secret"}
		if region == "" {
			// Without one, the client cannot sign: nothing is asked of the store.
			if _, err := Open(c).Bootstrap(t.Context()); err == nil || made.Load() {
				t.Errorf("without a region: %v", err)
			}
			continue
		}
		if _, err := Open(c).Bootstrap(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(body, "<LocationConstraint>"+want+"<"); got != (want != "") || want == "" && strings.Contains(body, "LocationConstraint") {
			t.Errorf("region %q: %s", region, body)
		}
	}
}

// What others did first, or what a store cannot do, is not a failure; everything else is.
func TestBootstrapAnswers(t *testing.T) {
	versions := func(r *http.Request) bool { return r.Method == http.MethodPut && r.URL.Query().Has("versioning") }
	for name, c := range map[string]struct {
		match  func(*http.Request) bool
		status int
		code   string
		want   string // of the error; empty: none
	}{
		"no access to the bucket":    {isBucket(http.MethodHead), http.StatusForbidden, "AccessDenied", "create the bucket"},
		"a bucket of somebody else":  {isBucket(http.MethodPut), http.StatusConflict, "BucketAlreadyExists", "create the bucket"},
		"no versions, by its code":   {versions, http.StatusBadRequest, "NotImplemented", ""},
		"no versions, by its status": {versions, http.StatusNotImplemented, "Other", ""},
		"no access to the versions":  {versions, http.StatusForbidden, "AccessDenied", "turn on versioning"},
		"no writes of objects":       {isObject(http.MethodPut), http.StatusForbidden, "AccessDenied", "write slipway-probe"},
		"no reads of objects":        {isObject(http.MethodGet), http.StatusForbidden, "AccessDenied", "read slipway-probe"},
		"no deletes of objects":      {isObject(http.MethodDelete), http.StatusForbidden, "AccessDenied", "delete slipway-probe"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, answering(c.match, c.status, c.code)).Bootstrap(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func isObject(method string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.Contains(r.URL.Path, "/slipway-probe/")
	}
}

// The bucket was made, and the answer lost: the second try says that it is ours.
func TestBootstrapOwned(t *testing.T) {
	s := serve(t, asItIs)
	if _, err := s.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	both := answering(isBucket(http.MethodPut), http.StatusConflict, "BucketAlreadyOwnedByYou")
	again := serve(t, func(next http.Handler) http.Handler {
		return answering(func(r *http.Request) bool {
			if isBucket(http.MethodPut)(r) { // it takes effect all the same
				next.ServeHTTP(httptest.NewRecorder(), r.Clone(r.Context()))
			}
			return false
		}, 0, "")(both(next))
	})
	if done, err := again.Bootstrap(t.Context()); err != nil || done.Created {
		t.Errorf("%+v, %v", done, err)
	}
}

// While another write is under way, the probe asks again; not for ever.
func TestProbeBusy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy int32
		fine bool
	}{"for a moment": {3, true}, "for ever": {1 << 30, false}} {
		var n atomic.Int32
		s := serve(t, answering(func(r *http.Request) bool {
			return isObject(http.MethodPut)(r) && n.Add(1) <= c.busy
		}, http.StatusConflict, "ConditionalRequestConflict"))
		if _, err := s.Bootstrap(t.Context()); (err == nil) != c.fine {
			t.Errorf("busy %s: %v", name, err)
		}
	}
}

const sealedState = `{"serial":7,"lineage":"line","meta":{},"encrypted_data":"x","encryption_version":"v0"}`

func TestReadStamp(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"sealed":        {sealedState, ""},
		"cut":           {sealedState[:20], "is damaged: its 20 bytes"},
		"in plain text": {`{"serial":7,"lineage":"line"}`, "is not encrypted"},
	} {
		stamp, err := ReadStamp("the state", []byte(c.data))
		if c.want == "" && (err != nil || stamp != Stamp{7, "line"}) || c.want != "" && (!fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", name, stamp, err)
		}
	}
}

// The store's stamp is that of the object; a store that fails has none, and says so.
func TestStamp(t *testing.T) {
	s := bucket(t, asItIs)
	if _, err := s.Stamp(t.Context(), stateKey); !errors.Is(err, ErrNone) {
		t.Errorf("of no state: %v", err)
	}
	if err := s.Write(t.Context(), stateKey, []byte(sealedState)); err != nil {
		t.Fatal(err)
	}
	if stamp, err := s.Stamp(t.Context(), stateKey); err != nil || stamp.Serial != 7 {
		t.Errorf("%+v, %v", stamp, err)
	}
	failing := serve(t, answering(isState, http.StatusForbidden, "AccessDenied"))
	if _, err := failing.Stamp(t.Context(), stateKey); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("of a store that fails: %v", err)
	}
}

func isState(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, stateKey) }

// Over HTTP, the stamp is read with the name and the password, if there are any.
func TestHTTPStamp(t *testing.T) {
	status, body, login := http.StatusOK, sealedState, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, ok := r.BasicAuth()
		if login = name + ":" + password; !ok {
			login = ""
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	c := HTTP{Address: server.URL + "/", Username: "name", Password: "word"}
	if stamp, err := c.Stamp(t.Context(), "test/a"); err != nil || stamp.Serial != 7 || login != "name:word" {
		t.Errorf("%+v, %v, %q", stamp, err, login)
	}
	if _, err := (HTTP{Address: server.URL}).Stamp(t.Context(), "test/a"); err != nil || login != "" {
		t.Errorf("without a name: %v, %q", err, login)
	}
	body = ""
	if _, err := c.Stamp(t.Context(), "test/a"); !errors.Is(err, ErrNone) {
		t.Errorf("of nothing: %v", err)
	}
	for _, status = range []int{http.StatusNotFound, http.StatusNoContent} {
		if _, err := c.Stamp(t.Context(), "test/a"); !errors.Is(err, ErrNone) {
			t.Errorf("of none: %v", err)
		}
	}
	status = http.StatusForbidden
	if _, err := c.Stamp(t.Context(), "test/a"); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "403") {
		t.Errorf("without access: %v", err)
	}
	if _, err := (HTTP{Address: "http://127.0.0.1:1"}).Stamp(t.Context(), "test/a"); err == nil {
		t.Error("a server that is not there has a stamp")
	}
	if _, err := (HTTP{Address: "http://[::1"}).Stamp(t.Context(), "test/a"); err == nil {
		t.Error("an invalid address has a stamp")
	}
}

// A list has the keys, in order, and the age of each by the store's clock.
func TestList(t *testing.T) {
	s := bucket(t, asItIs)
	for _, key := range []string{"a/2", "a/1", "b"} {
		if err := s.Write(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context(), "a/")
	if err != nil || len(list) != 2 || list[0].Key != "a/1" || list[1].Key != "a/2" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, o := range list {
		if o.Age > time.Minute || o.Age < -time.Minute {
			t.Errorf("%s is %s old", o.Key, o.Age)
		}
	}
	if list, err := s.List(t.Context(), "none/"); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := serve(t, asItIs).List(t.Context(), ""); err != nil || list != nil {
		t.Errorf("without a bucket: %+v, %v", list, err)
	}
	if _, err := serve(t, answering(inBucket, http.StatusForbidden, "AccessDenied")).List(t.Context(), ""); err == nil {
		t.Error("a store that refuses has a list")
	}
	// Without the store's clock, ours has to do.
	noClock := bucket(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Date"] = nil
			next.ServeHTTP(w, r)
		})
	})
	if err := noClock.Write(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if list, err := noClock.List(t.Context(), ""); err != nil || len(list) != 1 || list[0].Age > time.Minute || list[0].Age < -time.Minute {
		t.Errorf("%+v, %v", list, err)
	}
}

func inBucket(r *http.Request) bool { return strings.Trim(r.URL.Path, "/") == "state" }

// A lock that is not an OpenTofu lock is neither ignored nor removed.
func TestLockThatIsNone(t *testing.T) {
	for _, text := range []string{"", "x", "{}", `{"Who":"x"}`, `{"ID":"a"`, `{"ID":"a","Created":5}`} {
		s := bucket(t, asItIs)
		if err := s.Write(t.Context(), stateKey+".tflock", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if lock, err := s.ReadLock(t.Context(), stateKey); err == nil {
			t.Errorf("%q is the lock %+v", text, lock)
		}
		if err := s.Unlock(t.Context(), stateKey, ""); err == nil {
			t.Errorf("%q is removed", text)
		}
		if other, err := s.Lock(t.Context(), stateKey, lockOf("mine")); err == nil {
			t.Errorf("%q does not block: %v", text, other)
		}
	}
	refusing := serve(t, answering(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ".tflock") }, http.StatusForbidden, "AccessDenied"))
	if err := refusing.Unlock(t.Context(), stateKey, "mine"); err == nil {
		t.Error("an unreadable lock is removed")
	}
	if other, err := refusing.Lock(t.Context(), stateKey, lockOf("mine")); err == nil {
		t.Errorf("a store that refuses has given the lock: %v", other)
	}
}
