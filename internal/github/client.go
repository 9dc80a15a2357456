// Package github reports on GitHub how a run ended: one comment on a pull request, which is kept up
// to date, and one issue for each thing that needs a human.
//
// Everything it writes is found again by its author and a marker, which is an HTML comment in the
// first line: a marker quoted by somebody else does not count. Every write, and every retry after a
// lost response, first checks what is there, so nothing is posted twice.
//
// Texts come from the caller. They are not changed except for line ends and trailing white space.
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

	"slipway/internal/fault"
	"slipway/internal/redact"
	"slipway/internal/wait"
)

// Options say which GitHub to talk to, and as whom.
type Options struct {
	API   string       // URL of the REST API, such as https://api.github.com
	Token string       // token of a workflow, an app or a user
	HTTP  *http.Client // nil: a client with a timeout of 30 seconds
	// Wait returns after d, or with ctx.Err() if ctx ends first; nil sleeps.
	Wait func(ctx context.Context, d time.Duration) error
}

// A Client talks to GitHub. It is safe for concurrent use, but two clients that put the same
// comment or issue at the same time may both create it. The next put then removes one.
type Client struct {
	api     *api.Client
	graphql string // URL
	wait    func(ctx context.Context, d time.Duration) error
	secrets *redact.Set

	lock   sync.Mutex
	author int64 // ID of the token's owner, or 0 if not requested yet
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

// An Outcome is what happened to a comment or an issue.
type Outcome struct {
	Action  Action
	URL     string // web page, or empty if there is none
	Removed int    // number of duplicates left by an earlier crash: comments are deleted, issues closed
}

// New returns a client. It does not connect yet. It refuses a malformed URL and an empty token.
func New(o Options) (*Client, error) {
	root, err := parseURL(o.API)
	if err != nil {
		return nil, fault.Refuse("set GITHUB_API_URL=https://api.github.com", "the URL of GitHub's API %v", err)
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fault.Refuse("in the workflow, pass ${{ github.token }}", "the GitHub token is empty or contains invalid characters")
	}
	client := http.Client{Timeout: 30 * time.Second}
	if o.HTTP != nil {
		client = *o.HTTP
	}
	client.CheckRedirect = sameHost
	c := &Client{wait: o.Wait, secrets: redact.New(o.Token), graphql: root.JoinPath("graphql").String()}
	if c.wait == nil {
		c.wait = wait.For
	}
	if path, found := strings.CutSuffix(root.Path, "/api/v3/"); found {
		// GitHub Enterprise Server has GraphQL beside the REST API, not below it.
		c.graphql = (&url.URL{Scheme: root.Scheme, Host: root.Host, Path: path + "/api/graphql"}).String()
	}
	c.api = api.NewClient(&client).WithAuthToken(o.Token)
	c.api.BaseURL = root
	c.api.UserAgent = "slipway"
	// The library would refuse requests on its own; see repeat.
	c.api.DisableRateLimitCheck = true
	return c, nil
}

// parseURL parses the root URL of an API or a web site, with or without a trailing slash. Its error
// continues the name of the value.
func parseURL(text string) (*url.URL, error) {
	// It may contain a password, so it is not quoted.
	if strings.ContainsAny(text, "@?#") {
		return nil, errors.New("has more than a host and a path")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("is %q, which is not an http or https URL", text)
	}
	return u.JoinPath("/"), nil
}

var errElsewhere = errors.New("it redirects to another host, which must not see the token")

// sameHost follows redirects of a renamed repository and no others.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > 5 {
		return errElsewhere
	}
	return nil
}

// A repository is an owner and a name.
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
