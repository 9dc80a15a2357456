// Package github says on GitHub what became of a run: one comment that stays up
// to date on a pull request, and one issue for each thing that needs a human.
//
// Whatever it writes is found again by a marker, which is an HTML comment in the
// first line, and by its author: a marker that somebody else quotes is not ours.
// Every write follows a look at what is there, and so does every repetition of
// one whose answer was lost: nothing is posted twice.
//
// Texts come from the caller and are not changed, but for line ends and white
// space at the end.
package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	api "github.com/google/go-github/v74/github"

	"slipway/internal/redact"
	"slipway/internal/refusal"
)

// Options say which GitHub to talk to, and as who.
type Options struct {
	API   string       // URL of the REST API, such as https://api.github.com
	Token string       // of a workflow, an app or a user
	HTTP  *http.Client // nil: one that gives up on a request after 30 seconds
	// Wait returns after d, or with ctx.Err() when ctx ends before; nil sleeps.
	Wait func(ctx context.Context, d time.Duration) error
}

// A Client talks to GitHub. It may be used by several goroutines at once, but
// two that put the same comment or issue at the same time may both create it:
// the next to put it takes one away.
type Client struct {
	api     *api.Client
	graphql string // URL
	wait    func(ctx context.Context, d time.Duration) error
	secrets *redact.Set

	lock   sync.Mutex
	author int64 // ID of who the token belongs to, or 0 before it was asked
}

// Action is what was done.
type Action string

const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged" // nothing was written
	Closed    Action = "closed"
	Reopened  Action = "reopened"
)

// An Outcome is what became of a comment or an issue.
type Outcome struct {
	Action  Action
	URL     string // where a human sees it; empty if there is none
	Removed int    // how many duplicates an earlier crash had left: comments are deleted, issues closed
}

// New makes a client; it connects to nothing. It refuses a URL that is not one
// and an empty token.
func New(o Options) (*Client, error) {
	root, err := parseURL(o.API)
	if err != nil {
		return nil, refusal.New("set GITHUB_API_URL=https://api.github.com", "the URL of GitHub's API %v", err)
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, refusal.New("in the workflow, pass ${{ github.token }}", "the token for GitHub is empty or has characters that no token has")
	}
	client := http.Client{Timeout: 30 * time.Second}
	if o.HTTP != nil {
		client = *o.HTTP
	}
	client.CheckRedirect = sameHost
	c := &Client{wait: o.Wait, secrets: redact.New(o.Token), graphql: root.JoinPath("graphql").String()}
	if c.wait == nil {
		c.wait = sleep
	}
	if path, found := strings.CutSuffix(root.Path, "/api/v3/"); found {
		// An enterprise's own server has it beside, not below.
		c.graphql = (&url.URL{Scheme: root.Scheme, Host: root.Host, Path: path + "/api/graphql"}).String()
	}
	c.api = api.NewClient(&client).WithAuthToken(o.Token)
	c.api.BaseURL = root
	c.api.UserAgent = "slipway"
	// The library would refuse requests by itself; see repeat.
	c.api.DisableRateLimitCheck = true
	return c, nil
}

// parseURL takes the root of an API or of a web site, with or without a slash at
// its end. Its error goes on after the name of the value.
func parseURL(text string) (*url.URL, error) {
	// What may be a password is not repeated.
	if strings.ContainsAny(text, "@?#") {
		return nil, errors.New("has more than a host and a path")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("is %q, which is no http or https URL", text)
	}
	return u.JoinPath("/"), nil
}

var errElsewhere = errors.New("it redirects to another host, which must not see the token")

// sameHost follows a repository that was renamed, and nothing else.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > 5 {
		return errElsewhere
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A repository is one's owner and name.
type repository struct{ owner, name string }

func (r repository) String() string { return r.owner + "/" + r.name }

var validRepository = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]*)/([A-Za-z0-9._-]+)$`)

func parseRepository(text string) (repository, error) {
	match := validRepository.FindStringSubmatch(text)
	if match == nil || match[2] == "." || match[2] == ".." {
		return repository{}, fmt.Errorf("the repository %q is not of the form owner/name", text)
	}
	return repository{match[1], match[2]}, nil
}
