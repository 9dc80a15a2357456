package github

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/fault"

	"github.com/google/go-cmp/cmp"
)

var (
	mergeSHA = strings.Repeat("a", 40)
	headSHA  = strings.Repeat("b", 40)
)

// values are what GitHub Actions sets, with a payload that is written to a file.
func values(t *testing.T, event string, payload any) map[string]string {
	t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"GITHUB_REPOSITORY": repo, "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": path, "GITHUB_RUN_ID": "123456789012",
		"GITHUB_SHA": mergeSHA, "GITHUB_API_URL": "https://api.github.com", "GITHUB_SERVER_URL": "https://github.com",
	}
}

type object = map[string]any

// from is the head or base of a pull request.
func from(repository, sha string) object {
	return object{"sha": sha, "ref": "main", "repo": object{"full_name": repository}}
}

// pullRequest are the values of an event of pull request 7.
func pullRequest(t *testing.T, more object) map[string]string {
	t.Helper()
	pull := object{"number": 7, "head": from(repo, headSHA), "base": from(repo, mergeSHA)}
	maps.Copy(pull, more)
	return values(t, "pull_request", object{"action": "opened", "number": 7, "pull_request": pull})
}

func TestReadContext(t *testing.T) {
	plain := Context{
		Repository: repo, RunID: 123456789012, RunURL: "https://github.com/acme/infra/actions/runs/123456789012",
		SHA: mergeSHA, Head: mergeSHA, API: "https://api.github.com", Server: "https://github.com",
	}
	with := func(change func(c *Context)) Context {
		c := plain
		change(&c)
		return c
	}
	event := func(name string, payload object) func(*testing.T) map[string]string {
		return func(t *testing.T) map[string]string { return values(t, name, payload) }
	}
	pull := func(more object) func(*testing.T) map[string]string {
		return func(t *testing.T) map[string]string { return pullRequest(t, more) }
	}
	ours := func(c *Context) { c.Event, c.Pull, c.Head = "pull_request", 7, headSHA }
	for name, c := range map[string]struct {
		values func(*testing.T) map[string]string
		want   Context
	}{
		"pull_request":        {pull(nil), with(ours)},
		"of a fork":           {pull(object{"head": from("mallory/infra", headSHA)}), with(func(c *Context) { ours(c); c.Fork = true })},
		"of a deleted fork":   {pull(object{"head": object{"sha": headSHA, "repo": nil}}), with(func(c *Context) { ours(c); c.Fork = true })},
		"of nowhere":          {pull(object{"head": object{"sha": headSHA}, "base": object{"sha": mergeSHA}}), with(func(c *Context) { ours(c); c.Fork = true })},
		"without a head":      {pull(object{"head": nil}), with(func(c *Context) { ours(c); c.Fork, c.Head = true, mergeSHA })},
		"push":                {event("push", object{"ref": "refs/heads/main", "after": mergeSHA}), with(func(c *Context) { c.Event = "push" })},
		"schedule":            {event("schedule", object{"schedule": "0 5 * * *"}), with(func(c *Context) { c.Event = "schedule" })},
		"workflow_dispatch":   {event("workflow_dispatch", object{"inputs": object{"number": "7"}}), with(func(c *Context) { c.Event = "workflow_dispatch" })},
		"merge_group":         {event("merge_group", object{"merge_group": object{"head_sha": headSHA}}), with(func(c *Context) { c.Event = "merge_group" })},
		"comment on an issue": {event("issue_comment", object{"issue": object{"number": 7}}), with(func(c *Context) { c.Event = "issue_comment" })},
		"comment on a pull request": {
			event("issue_comment", object{"issue": object{"number": 7, "pull_request": object{"url": "x"}}}),
			with(func(c *Context) { c.Event, c.Pull, c.Fork = "issue_comment", 7, true }),
		},
		"only a number": {event("pull_request", object{"number": 7}), with(func(c *Context) { c.Event, c.Pull, c.Fork = "pull_request", 7, true })},
		"little is said": {
			func(*testing.T) map[string]string {
				return map[string]string{"GITHUB_REPOSITORY": repo, "GITHUB_EVENT_NAME": "push"}
			},
			Context{Repository: repo, Event: "push", API: "https://api.github.com", Server: "https://github.com"},
		},
		"the first run": {
			func(t *testing.T) map[string]string {
				v := values(t, "push", nil)
				v["GITHUB_RUN_ID"] = "1"
				return v
			},
			with(func(c *Context) {
				c.Event, c.RunID, c.RunURL = "push", 1, "https://github.com/acme/infra/actions/runs/1"
			}),
		},
		"another server": {
			func(t *testing.T) map[string]string {
				v := values(t, "push", nil)
				v["GITHUB_API_URL"], v["GITHUB_SERVER_URL"] = "http://git.example.org/api/v3/", "http://git.example.org/"
				// What nobody asks for cannot be in the way.
				v["GITHUB_RUN_NUMBER"], v["GITHUB_ACTIONS"] = "seven", "perhaps"
				return v
			},
			with(func(c *Context) {
				c.Event, c.API, c.Server = "push", "http://git.example.org/api/v3", "http://git.example.org"
				c.RunURL = "http://git.example.org/acme/infra/actions/runs/123456789012"
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.values(t)
			got, err := ReadContext(func(name string) string { return v[name] })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadContextRefuses(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"number": 7`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ variable, value, want string }{
		"no repository":              {"GITHUB_REPOSITORY", "", "GITHUB_REPOSITORY is not set"},
		"no owner":                   {"GITHUB_REPOSITORY", "infra", `"infra"`},
		"a path":                     {"GITHUB_REPOSITORY", "../infra", `"../infra"`},
		"two lines":                  {"GITHUB_REPOSITORY", "acme/infra\nx", `"acme/infra\nx"`},
		"no event":                   {"GITHUB_EVENT_NAME", "", "GITHUB_EVENT_NAME is not set"},
		"an event of two lines":      {"GITHUB_EVENT_NAME", "push\nx", `"push\nx"`},
		"a run that is not a number": {"GITHUB_RUN_ID", "seven", `GITHUB_RUN_ID is "seven"`},
		"a negative run":             {"GITHUB_RUN_ID", "-7", `GITHUB_RUN_ID is "-7"`},
		"run 0":                      {"GITHUB_RUN_ID", "0", `GITHUB_RUN_ID is "0"`},
		"a run beyond all numbers":   {"GITHUB_RUN_ID", "99999999999999999999", `GITHUB_RUN_ID is "99999999999999999999"`},
		"an invalid commit":          {"GITHUB_SHA", "main", `GITHUB_SHA is "main"`},
		"an API over FTP":            {"GITHUB_API_URL", "ftp://x", `GITHUB_API_URL is "ftp://x"`},
		"a server with a password":   {"GITHUB_SERVER_URL", "https://hunter2@x", "GITHUB_SERVER_URL has more than a host"},
		"no file of the event":       {"GITHUB_EVENT_PATH", "/does/not/exist", `"/does/not/exist"`},
		"no path of it":              {"GITHUB_EVENT_PATH", "", "names no pull request"},
		"a broken event":             {"GITHUB_EVENT_PATH", broken, "does not contain an event"},
	} {
		t.Run(name, func(t *testing.T) {
			v := pullRequest(t, nil)
			v[c.variable] = c.value
			refused(t, v, c.want)
		})
	}
	for name, payload := range map[string]any{
		"a list":              []int{7},
		"a word for a number": object{"pull_request": object{"number": "seven"}},
		"half a number":       object{"number": 7.5},
		"a negative number":   object{"number": -7},
		"no number":           object{"pull_request": object{}},
		"no pull request":     object{"action": "opened"},
		"a wrong commit":      object{"pull_request": object{"number": 7, "head": object{"sha": "a\nb"}}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, values(t, "pull_request", payload), "") })
	}
	// Whatever the event is called.
	for name, payload := range map[string]any{
		"a pull request without a number": object{"pull_request": object{}},
		"a comment on one":                object{"issue": object{"pull_request": object{}}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, values(t, "issue_comment", payload), "names no pull request") })
	}
}

func refused(t *testing.T, values map[string]string, want string) {
	t.Helper()
	_, err := ReadContext(func(name string) string { return values[name] })
	refused, ok := fault.Refusal(err)
	if !ok || refused.Hint == "" || !strings.Contains(refused.Error(), want) {
		t.Fatalf("got %v, want a refusal with %q", err, want)
	}
	if strings.Contains(refused.Error(), "hunter2") || strings.Contains(refused.Error(), "\n") {
		t.Errorf("got %q", refused.Error())
	}
}
