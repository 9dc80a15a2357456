package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A service counts the requests that reach it, and what is wanted of them.
type service struct {
	t     *testing.T
	url   string
	rules Rules

	mu     sync.Mutex
	seen   int
	wanted string
}

func serve(t *testing.T) *service {
	t.Helper()
	s := &service{t: t}
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen++
		s.wanted = Wanted(r.Context())["status"]
		fmt.Fprint(w, "fine")
	})
	mux := http.NewServeMux()
	mux.Handle("/-/faults", &s.rules)
	mux.Handle("/", s.rules.Around(next))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// An answer is what came back, with its body.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *service) do(method, path, body string) (answer, error) {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(data)}, err
}

// set puts rules in force as a test beside the process does.
func (s *service) set(rules string, want int) string {
	s.t.Helper()
	got, err := s.do("POST", "/-/faults", rules)
	if err != nil || got.status != want {
		s.t.Fatalf("%+v, %v", got, err)
	}
	return got.body
}

// Each kind of fault, as it is set over HTTP.
func TestFaults(t *testing.T) {
	for _, one := range []struct {
		rule       string
		status     int // 0: no answer
		seen       int // requests that took effect
		retryAfter string
		took       time.Duration
	}{
		{`{"status": 500}`, 500, 0, "", 0},
		{`{"status": 500, "afterEffect": true}`, 500, 1, "", 0},
		{`{"status": 429}`, 429, 0, "1", 0},
		{`{"status": 429, "retryAfter": 7}`, 429, 0, "7", 0},
		{`{"status": 503, "retryAfter": 2}`, 503, 0, "2", 0},
		{`{"drop": true}`, 0, 0, "", 0},
		{`{"drop": true, "afterEffect": true}`, 0, 1, "", 0},
		{`{"delayMilliseconds": 100}`, 200, 1, "", 100 * time.Millisecond},
		{`{"delayMilliseconds": 100, "status": 504, "afterEffect": true}`, 504, 1, "", 100 * time.Millisecond},
		{`{"set": {"status": "ERROR"}}`, 200, 1, "", 0},
		{`{"method": "PUT", "status": 500}`, 200, 1, "", 0},
		{`{"path": "^/things/\\d+$", "status": 500}`, 500, 0, "", 0},
		{`{"path": "^/things$", "status": 500}`, 200, 1, "", 0},
	} {
		t.Run(one.rule, func(t *testing.T) {
			s := serve(t)
			s.set("["+one.rule+"]", http.StatusNoContent)
			start := time.Now()
			// A POST is not repeated by the client when the connection is cut.
			got, err := s.do("POST", "/things/1", "x")
			if (err == nil) != (one.status != 0) || got.status != one.status || got.header.Get("Retry-After") != one.retryAfter {
				t.Errorf("%+v, %v", got, err)
			}
			if one.status == 200 && got.body != "fine" || one.status >= 400 && !json.Valid([]byte(got.body)) {
				t.Errorf("%s", got.body)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.seen != one.seen || time.Since(start) < one.took { //nolint:forbidigo // a lower limit
				t.Errorf("%d took effect, or it came too early", s.seen)
			}
			if want := strings.Contains(one.rule, "ERROR"); (s.wanted == "ERROR") != want {
				t.Errorf("%q was wanted", s.wanted)
			}
		})
	}
}

// The first rule that fits counts, for as many requests as it says, after those that
// it lets pass; GET shows how many it befell, and DELETE ends it.
func TestRules(t *testing.T) {
	s := serve(t)
	s.set(`[{"path": "/a", "status": 500, "skip": 1, "times": 2}, {"path": "/a", "status": 503, "times": 1}, {"status": 404}]`, http.StatusNoContent)
	want := func(method, path string, status int) string {
		t.Helper()
		got, err := s.do(method, path, "")
		if err != nil || got.status != status {
			t.Errorf("%s %s: %+v, %v", method, path, got, err)
		}
		return got.body
	}
	for _, status := range []int{503, 500, 500, 404, 404} {
		want("GET", "/a", status)
	}
	var shown []Rule
	body := want("GET", "/-/faults", http.StatusOK)
	if err := json.Unmarshal([]byte(body), &shown); err != nil || len(shown) != 3 ||
		shown[0].Befell != 2 || shown[1].Befell != 1 || shown[2].Befell != 2 || shown[0].Path != "/a" {
		t.Errorf("%v: %s", err, body)
	}
	s.set(`[{"status": 410}]`, http.StatusNoContent) // instead of the others
	want("GET", "/a", http.StatusGone)
	want("DELETE", "/-/faults", http.StatusNoContent)
	want("GET", "/a", http.StatusOK)
	if body := want("GET", "/-/faults", http.StatusOK); strings.TrimSpace(body) != "[]" {
		t.Errorf("%s", body)
	}
	want("PUT", "/-/faults", http.StatusMethodNotAllowed)
}

// A rule that is wrong is refused, and those in force stay.
func TestWrongRules(t *testing.T) {
	s := serve(t)
	s.set(`[{"status": 500}]`, http.StatusNoContent)
	for rules, want := range map[string]string{
		`{}`:                                 "cannot unmarshal object",
		`[{"state": 500}]`:                   `unknown field "state"`,
		`[{"path": "(", "status": 500}]`:     "rule 0: path:",
		`[{"status": 200}]`:                  "rule 0: status 200 is not an error",
		`[{"status": 500}, {}]`:              "rule 1: no effect",
		`[{"times": -1, "status": 500}]`:     "rule 0: a number is negative",
		`[{"afterEffect": true, "set": {}}]`: "rule 0: afterEffect needs status or drop",
	} {
		if body := s.set(rules, http.StatusBadRequest); !strings.Contains(body, want) {
			t.Errorf("%s: %s", rules, body)
		}
	}
	if rules := s.rules.Current(); len(rules) != 1 || rules[0].Status != 500 {
		t.Errorf("%+v", rules)
	}
}
