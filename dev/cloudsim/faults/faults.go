// Package faults makes requests to a simulated cloud fail according to rules, which are set over
// HTTP or in a test's process.
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

// A Rule says which requests fail and how. The first fields say which, the others how.
type Rule struct {
	Method string `json:"method,omitempty"` // empty: any
	Path   string `json:"path,omitempty"`   // regular expression for a part of the path; empty: any
	Skip   int    `json:"skip,omitempty"`   // number of matching requests that pass before the first one that fails
	Times  int    `json:"times,omitempty"`  // number of requests that fail; 0: all

	DelayMilliseconds int  `json:"delayMilliseconds,omitempty"` // before the request takes effect
	AfterEffect       bool `json:"afterEffect,omitempty"`       // the request takes effect before it fails
	Drop              bool `json:"drop,omitempty"`              // no response: the connection is closed
	Status            int  `json:"status,omitempty"`            // status of the response; 0: the normal response
	RetryAfter        int  `json:"retryAfter,omitempty"`        // seconds; the default for status 429 is 1
	// How the operation started by the request ends: {"status": "ERROR"} makes a server that it
	// creates fail in the end.
	Set map[string]string `json:"set,omitempty"`

	Befell int `json:"befell"` // number of requests that have failed so far

	path *regexp.Regexp
}

// Rules are the rules in force. Initially there are none.
type Rules struct {
	mu  sync.Mutex
	all []*Rule
}

// Replace replaces all rules in force. If several match a request, the first one applies.
func (r *Rules) Replace(rules []Rule) error {
	var all []*Rule
	for i, rule := range rules {
		path, err := regexp.Compile(rule.Path)
		if err != nil {
			return fmt.Errorf("rule %d: path: %w", i, err)
		}
		switch {
		case rule.Status != 0 && (rule.Status < 400 || rule.Status > 599):
			return fmt.Errorf("rule %d: status %d is not an error", i, rule.Status)
		case rule.Skip < 0 || rule.Times < 0 || rule.DelayMilliseconds < 0 || rule.RetryAfter < 0:
			return fmt.Errorf("rule %d: a number is negative", i)
		case rule.AfterEffect && rule.Status == 0 && !rule.Drop:
			return fmt.Errorf("rule %d: afterEffect needs status or drop", i)
		case rule.Status == 0 && !rule.Drop && rule.DelayMilliseconds == 0 && len(rule.Set) == 0:
			return fmt.Errorf("rule %d: no effect: set status, drop, delayMilliseconds or set", i)
		}
		rule.path, rule.Befell = path, 0
		all = append(all, &rule)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = all
	return nil
}

// Current returns the rules in force, with their counts.
func (r *Rules) Current() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	rules := []Rule{}
	for _, rule := range r.all {
		rules = append(rules, *rule)
	}
	return rules
}

// find returns the rule that applies to the request, and counts the request.
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

// Around wraps next so that requests fail as the rules say.
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
		// Both clouds' clients accept this: OVH's reads class and message, OpenStack's only the
		// status.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rule.Status)
		fmt.Fprintf(w, `{"class":"Server::InternalServerError","message":"a cloudsim rule returns %d"}`+"\n", rule.Status)
	}
}

type wanted struct{}

// Wanted returns how a rule wants the operation started by the request to end. It is empty if no
// rule applies.
func Wanted(ctx context.Context) map[string]string {
	set, _ := ctx.Value(wanted{}).(map[string]string)
	return set
}

// unheard receives the response that the client never gets.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }
func (u *unheard) WriteHeader(int)             {}
