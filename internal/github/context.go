package github

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"slipway/internal/fault"
)

// A Context is what GitHub Actions says about the run. Every value is validated: none contains a
// line break, so each may be printed or passed on as it is.
type Context struct {
	Repository string // owner/name
	Event      string // such as pull_request
	RunID      int64  // 0 if unknown
	RunURL     string // web page of the run; empty if RunID is 0
	SHA        string // checked-out commit, which for a pull request is a merge commit; empty if unknown
	Head       string // last commit of the pull request, otherwise SHA
	API        string // URL without a trailing slash
	Server     string // URL without a trailing slash
	Pull       int    // number of the pull request, 0 if the event has none
	Fork       bool   // the pull request comes from another repository, or its repository is unknown
}

// asked lists the variables that are read. The others are ignored, so that a broken one cannot
// cause a failure.
var asked = []string{
	"GITHUB_REPOSITORY", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_RUN_ID", "GITHUB_SHA", "GITHUB_API_URL", "GITHUB_SERVER_URL",
}

const eventHint = "check the file that GITHUB_EVENT_PATH names, or unset it"

var (
	validEvent = regexp.MustCompile(`^[a-z][a-z_]*$`)
	validSHA   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// ReadContext reads the run from the variables that GitHub Actions sets and from the file at
// GITHUB_EVENT_PATH. GITHUB_REPOSITORY and GITHUB_EVENT_NAME are required; the file is required for
// a pull request. A missing or malformed value is refused.
//
// https://docs.github.com/en/actions/reference/workflows-and-actions/variables
func ReadContext(getenv func(name string) string) (Context, error) {
	if id := getenv("GITHUB_RUN_ID"); id != "" {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || n < 1 {
			return Context{}, fault.Refuse("set GITHUB_RUN_ID=${{ github.run_id }}", "GITHUB_RUN_ID is %q, which is not a run number", id)
		}
	}
	if path := getenv("GITHUB_EVENT_PATH"); path != "" {
		// The library treats a missing file as an empty one.
		if _, err := os.Stat(path); err != nil {
			return Context{}, fault.Refuse(eventHint, "GITHUB_EVENT_PATH is %q, which cannot be read: %v", path, err)
		}
	}
	// The library is only used for reading: its way of writing a multi-line value can be broken by
	// the value.
	run, err := githubactions.New(githubactions.WithWriter(io.Discard), githubactions.WithGetenv(func(name string) string {
		if !slices.Contains(asked, name) {
			return ""
		}
		return getenv(name)
	})).Context()
	if err != nil {
		return Context{}, fault.Refuse(eventHint, "GITHUB_EVENT_PATH is %q, which does not contain an event: %v", getenv("GITHUB_EVENT_PATH"), err)
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
		return fault.Refuse("set GITHUB_REPOSITORY=owner/name", "GITHUB_REPOSITORY is not set")
	}
	if _, err := parseRepository(c.Repository); err != nil {
		return fault.Refuse("set GITHUB_REPOSITORY=owner/name", "GITHUB_REPOSITORY is %q, which is not of the form owner/name", c.Repository)
	}
	if c.Event == "" {
		return fault.Refuse("set GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_EVENT_NAME is not set")
	}
	if !validEvent.MatchString(c.Event) {
		return fault.Refuse("set GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_EVENT_NAME is %q, which is not the name of an event", c.Event)
	}
	if c.SHA != "" && !validSHA.MatchString(c.SHA) {
		return fault.Refuse("set GITHUB_SHA=$(git rev-parse HEAD)", "GITHUB_SHA is %q, which is not a commit", c.SHA)
	}
	return nil
}

func address(name, value string) (string, error) {
	u, err := parseURL(value)
	if err != nil {
		example := map[string]string{"GITHUB_API_URL": "https://api.github.com", "GITHUB_SERVER_URL": "https://github.com"}[name]
		return "", fault.Refuse("set "+name+"="+example, "%s %v", name, err)
	}
	return strings.TrimRight(u.String(), "/"), nil
}
