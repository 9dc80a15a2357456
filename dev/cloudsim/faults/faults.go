// Package faults lets requests to a simulated cloud go wrong by rules, which are
// set over HTTP or in the process of a test.
package faults

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// A Rule says which requests go wrong and how. Its first fields say which, the
// others how.
type Rule struct {
	Method string `json:"method,omitempty"` // empty: any
	Path   string `json:"path,omitempty"`   // a regular expression for a part of the path; empty: any
	Skip   int    `json:"skip,omitempty"`   // how many of these requests pass before the first that it befalls
	Times  int    `json:"times,omitempty"`  // how many it befalls; 0: all

	DelayMilliseconds int  `json:"delayMilliseconds,omitempty"` // before the request takes effect
	AfterEffect       bool `json:"afterEffect,omitempty"`       // it takes effect, and goes wrong only then
	Drop              bool `json:"drop,omitempty"`              // there is no answer: the connection is cut
	Status            int  `json:"status,omitempty"`            // of the answer; 0: it is answered as ever
	RetryAfter        int  `json:"retryAfter,omitempty"`        // seconds; a 429 without it says 1
	// What becomes of that which the request sets going: {"status": "ERROR"} lets a
	// server that it makes fail in the end.
	Set map[string]string `json:"set,omitempty"`

	Befell int `json:"befell"` // how many it has befallen so far

	path *regexp.Regexp
}

// Rules are those in force. None is, at first.
type Rules struct {
	mu  sync.Mutex
	all []*Rule
}

// Replace puts these rules in force instead of all others. Of several that fit, the
// first befalls a request.
func (r *Rules) Replace(rules []Rule) error {
	var all []*Rule
	for i, rule := range rules {
		path, err := regexp.Compile(rule.Path)
		if err != nil {
			return fmt.Errorf("rule %d: path: %w", i, err)
		}
		switch {
		case rule.Status != 0 && (rule.Status < 400 || rule.Status > 599):
			return fmt.Errorf("rule %d: status %d is no error", i, rule.Status)
		case rule.Skip < 0 || rule.Times < 0 || rule.DelayMilliseconds < 0 || rule.RetryAfter < 0:
			return fmt.Errorf("rule %d: a number is below zero", i)
		case rule.AfterEffect && rule.Status == 0 && !rule.Drop:
			return fmt.Errorf("rule %d: afterEffect needs status or drop", i)
		case rule.Status == 0 && !rule.Drop && rule.DelayMilliseconds == 0 && len(rule.Set) == 0:
			return fmt.Errorf("rule %d: nothing goes wrong: give it status, drop, delayMilliseconds or set", i)
		}
		rule.path, rule.Befell = path, 0
		all = append(all, &rule)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = all
	return nil
}

// Current returns the rules in force, and how often each befell a request.
func (r *Rules) Current() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	rules := []Rule{}
	for _, rule := range r.all {
		rules = append(rules, *rule)
	}
	return rules
}

// find returns the rule that befalls the request, and counts it.
func (r *Rules) find(request *http.Request) (rule Rule, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rule := range r.all {
		if rule.Method != "" && rule.Method != request.Method || !rule.path.MatchString(request.URL.Path) || rule.Times > 0 && rule.Befell >= rule.Times {
			continue
		}
		if rule.Skip > 0 {
			rule.Skip--
			continue
		}
		rule.Befell++
		return *rule, true
	}
	return Rule{}, false
}

// Around lets the requests to next go wrong as the rules say.
func (r *Rules) Around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		rule, ok := r.find(request)
		if !ok {
			next.ServeHTTP(w, request)
			return
		}
		rule.serve(w, request, next)
	})
}

func (rule Rule) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	select {
	case <-time.After(time.Duration(rule.DelayMilliseconds) * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), wanted{}, rule.Set))
	if rule.AfterEffect {
		next.ServeHTTP(&unheard{http.Header{}}, r)
	}
	switch {
	case rule.Drop:
		panic(http.ErrAbortHandler)
	case rule.Status == 0:
		next.ServeHTTP(w, r)
	default:
		if rule.Status == http.StatusTooManyRequests || rule.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(max(rule.RetryAfter, 1)))
		}
		// Both clouds' clients take it: OVH's reads class and message, OpenStack's the
		// status alone.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rule.Status)
		fmt.Fprintf(w, `{"class":"Server::InternalServerError","message":"a rule of cloudsim answers %d"}`+"\n", rule.Status)
	}
}

type wanted struct{}

// Wanted is what a rule says that shall become of what the request sets going. It
// is empty if no rule does.
func Wanted(ctx context.Context) map[string]string {
	set, _ := ctx.Value(wanted{}).(map[string]string)
	return set
}

// unheard takes the answer that the client never gets.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }
func (u *unheard) WriteHeader(int)             {}
