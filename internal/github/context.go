package github

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"slipway/internal/refusal"
)

// A Context is what GitHub Actions says of the run. Every value is checked: none
// holds a line end, so each may be printed or handed on as it is.
type Context struct {
	Repository string // owner/name
	Event      string // such as pull_request
	RunID      int64  // 0 if it is not said
	RunURL     string // where a human sees the run; empty if RunID is 0
	SHA        string // of the commit that is checked out, which for a pull request is a merge; empty if it is not said
	Head       string // of the pull request's last commit, else SHA
	API        string // URL, without a slash at its end
	Server     string // URL, without a slash at its end
	Pull       int    // number of the pull request, 0 if the event has none
	Fork       bool   // the pull request comes from another repository, or it is not said from which
}

// asked are the variables that are read. The others are not, so that a broken one
// cannot be in the way.
var asked = []string{
	"GITHUB_REPOSITORY", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_RUN_ID", "GITHUB_SHA", "GITHUB_API_URL", "GITHUB_SERVER_URL",
}

const eventHint = "look at the file that GITHUB_EVENT_PATH names, or unset it"

var (
	validEvent = regexp.MustCompile(`^[a-z][a-z_]*$`)
	validSHA   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// ReadContext reads the run from the variables that GitHub Actions sets, of which
// GITHUB_REPOSITORY and GITHUB_EVENT_NAME must be there, and from the file at
// GITHUB_EVENT_PATH, which must be there for a pull request. A value that is
// missing or malformed is refused.
//
// https://docs.github.com/en/actions/reference/workflows-and-actions/variables
func ReadContext(getenv func(name string) string) (Context, error) {
	if id := getenv("GITHUB_RUN_ID"); id != "" {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || n < 1 {
			return Context{}, refusal.New("set GITHUB_RUN_ID=${{ github.run_id }}", "GITHUB_RUN_ID is %q, which is no number of a run", id)
		}
	}
	if path := getenv("GITHUB_EVENT_PATH"); path != "" {
		// The library takes no file for an empty one.
		if _, err := os.Stat(path); err != nil {
			return Context{}, refusal.New(eventHint, "GITHUB_EVENT_PATH is %q, which cannot be read: %v", path, err)
		}
	}
	// Only ever read: the library's way to write a value of several lines can be
	// broken by the value.
	run, err := githubactions.New(githubactions.WithWriter(io.Discard), githubactions.WithGetenv(func(name string) string {
		if !slices.Contains(asked, name) {
			return ""
		}
		return getenv(name)
	})).Context()
	if err != nil {
		return Context{}, refusal.New(eventHint, "GITHUB_EVENT_PATH is %q, which holds no event: %v", getenv("GITHUB_EVENT_PATH"), err)
	}
	c := Context{Repository: run.Repository, Event: run.EventName, RunID: run.RunID, SHA: run.SHA, Head: run.SHA}
	if err := c.check(); err != nil {
		return Context{}, err
	}
	if c.API, err = address("GITHUB_API_URL", run.APIURL); err != nil {
		return Context{}, err
	}
	if c.Server, err = address("GITHUB_SERVER_URL", run.ServerURL); err != nil {
		return Context{}, err
	}
	if c.RunID != 0 {
		c.RunURL = c.Server + "/" + c.Repository + "/actions/runs/" + strconv.FormatInt(c.RunID, 10)
	}
	if err := c.readPull(run); err != nil {
		return Context{}, err
	}
	return c, nil
}

func (c *Context) check() error {
	if c.Repository == "" {
		return refusal.New("set GITHUB_REPOSITORY=owner/name", "GITHUB_REPOSITORY is not set")
	}
	if _, err := parseRepository(c.Repository); err != nil {
		return refusal.New("set GITHUB_REPOSITORY=owner/name", "GITHUB_REPOSITORY is %q, which is not of the form owner/name", c.Repository)
	}
	if c.Event == "" {
		return refusal.New("set GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_EVENT_NAME is not set")
	}
	if !validEvent.MatchString(c.Event) {
		return refusal.New("set GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_EVENT_NAME is %q, which is no name of an event", c.Event)
	}
	if c.SHA != "" && !validSHA.MatchString(c.SHA) {
		return refusal.New("set GITHUB_SHA=$(git rev-parse HEAD)", "GITHUB_SHA is %q, which is no commit", c.SHA)
	}
	return nil
}

func address(name, value string) (string, error) {
	u, err := parseURL(value)
	if err != nil {
		example := map[string]string{"GITHUB_API_URL": "https://api.github.com", "GITHUB_SERVER_URL": "https://github.com"}[name]
		return "", refusal.New("set "+name+"="+example, "%s %v", name, err)
	}
	return strings.TrimRight(u.String(), "/"), nil
}
