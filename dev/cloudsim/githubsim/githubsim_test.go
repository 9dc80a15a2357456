package githubsim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const repo = "acme/infra"

// serve puts a server under a prefix, as cloudsim does.
func serve(t *testing.T, path string) (*Server, string) {
	t.Helper()
	sim, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/github", sim))
	t.Cleanup(server.Close)
	return sim, server.URL + "/github"
}

// A reply is an answer that was read.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends a request by token; what is empty is left out.
func ask(t *testing.T, method, url, token, body string) reply {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(data)}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAnswers compares the statuses and a part of the answers with what GitHub's
// documentation says.
func TestAnswers(t *testing.T) {
	const (
		issues   = "/repos/acme/infra/issues"
		comments = "/repos/acme/infra/issues/1/comments"
		viewer   = `{"query": "{viewer{login databaseId}}"}`
	)
	body := func(n int) string { return jsonOf(t, map[string]string{"body": strings.Repeat("é", n)}) }
	for name, c := range map[string]struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		"no token":              {"GET", issues, "", "", 401, `"Requires authentication"`},
		"a wrong token":         {"GET", issues, "hunter2", "", 401, `"Bad credentials"`},
		"a token of nobody":     {"GET", issues, "token-of-", "", 401, `"Bad credentials"`},
		"the bot asks REST":     {"GET", "/user", "token-of-actions", "", 403, `"Resource not accessible by integration"`},
		"a user asks REST":      {"GET", "/user", "token-of-alice", "", 200, `"login":"alice"`},
		"the bot asks GraphQL":  {"POST", "/graphql", "token-of-actions", viewer, 200, `{"data":{"viewer":{"databaseId":41898282,"login":"github-actions[bot]"}}}`},
		"a user asks GraphQL":   {"POST", "/graphql", "token-of-alice", `{"query": "query { viewer { login } }"}`, 200, `{"data":{"viewer":{"login":"alice"}}}`},
		"a wrong query":         {"POST", "/graphql", "token-of-alice", `{"query": "{rateLimit{cost}}"}`, 200, `"errors":[`},
		"no such path":          {"GET", "/nothing", "token-of-alice", "", 404, `"Not Found"`},
		"no such issue":         {"GET", "/repos/acme/infra/issues/9/comments", "token-of-alice", "", 404, `"Not Found"`},
		"no number":             {"PATCH", "/repos/acme/infra/issues/x", "token-of-alice", "{}", 404, `"Not Found"`},
		"issue number 0":        {"PATCH", "/repos/acme/infra/issues/0", "token-of-alice", "{}", 404, `"Not Found"`},
		"no such comment":       {"PATCH", "/repos/acme/infra/issues/comments/9", "token-of-alice", body(1), 404, `"Not Found"`},
		"deletes no comment":    {"DELETE", "/repos/acme/infra/issues/comments/9", "token-of-alice", "", 404, `"Not Found"`},
		"a comment":             {"POST", comments, "token-of-alice", body(65536), 201, `"login":"alice"`},
		"a long comment":        {"POST", comments, "token-of-alice", body(65537), 422, `"Body is too long (maximum is 65536 characters)"`},
		"an empty comment":      {"POST", comments, "token-of-alice", `{"body": " "}`, 422, "cannot be blank"},
		"no JSON":               {"POST", comments, "token-of-alice", `{`, 400, `"Problems parsing JSON"`},
		"an issue":              {"POST", issues, "token-of-actions", `{"title": "x", "labels": ["a"]}`, 201, `"type":"Bot"`},
		"an issue of a guest":   {"POST", issues, "token-of-guest", `{"title": "x", "labels": ["a"]}`, 201, `"labels":[]`},
		"an issue with no name": {"POST", issues, "token-of-alice", `{"body": "x"}`, 422, `"missing_field"`},
		"a long issue":          {"POST", issues, "token-of-alice", strings.Replace(body(65537), "{", `{"title":"x",`, 1), 422, `"body is too long (maximum is 65536 characters)"`},
		"a long title":          {"POST", issues, "token-of-alice", `{"title": "` + strings.Repeat("x", 257) + `"}`, 422, `"title is too long`},
		"a wrong state":         {"PATCH", issues + "/1", "token-of-alice", `{"state": "shut"}`, 422, `"state"`},
		"a wrong reason":        {"PATCH", issues + "/1", "token-of-alice", `{"state": "closed", "state_reason": "why"}`, 422, `"state_reason"`},
		"closed":                {"PATCH", issues + "/1", "token-of-alice", `{"state": "closed"}`, 200, `"state_reason":"completed"`},
		"a label":               {"POST", "/repos/acme/infra/labels", "token-of-alice", `{"name": "b"}`, 201, `"name":"b"`},
		"a label twice":         {"POST", "/repos/acme/infra/labels", "token-of-alice", `{"name": "KNOWN"}`, 422, `"already_exists"`},
		"a label with no name":  {"POST", "/repos/acme/infra/labels", "token-of-alice", `{}`, 422, `"missing_field"`},
		"a pull request":        {"POST", "/repos/acme/infra/pulls", "token-of-alice", `{"title": "x", "head": "a", "base": "main"}`, 201, `"html_url":"http://`},
	} {
		t.Run(name, func(t *testing.T) {
			sim, root := serve(t, "")
			sim.AddIssue(repo, "bob", "First", "", "known")
			got := ask(t, c.method, root+c.path, c.token, c.body)
			if got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("got %d %.300s", got.status, got.body)
			}
		})
	}
}

// numbers are those of the issues in an answer.
func numbers(t *testing.T, answer string) []int {
	t.Helper()
	var list []issueJSON
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatal(err)
	}
	found := []int{}
	for _, i := range list {
		found = append(found, i.Number)
	}
	return found
}

func TestIssueFilters(t *testing.T) {
	sim, root := serve(t, "")
	sim.AddIssue(repo, "bob", "1", "", "a", "b")
	sim.AddPull(repo, "alice", "2", "", "a")
	sim.AddIssue(repo, Bot, "3", "", "A")
	sim.Edit(repo, 3, func(i *Issue) { i.Open = false })
	for query, want := range map[string][]int{
		"":                                       {2, 1},
		"?state=all":                             {3, 2, 1},
		"?state=all&sort=created&direction=asc":  {1, 2, 3},
		"?state=closed":                          {3},
		"?labels=a&state=all":                    {3, 2, 1},
		"?labels=a,b":                            {1},
		"?labels=none":                           {},
		"?creator=alice":                         {2},
		"?creator=github-actions[bot]&state=all": {3},
	} {
		got := ask(t, "GET", root+"/repos/acme/infra/issues"+query, "token-of-alice", "").body
		if diff := cmp.Diff(want, numbers(t, got)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		if strings.Count(got, `"pull_request"`) != strings.Count(got, `"number":2`) {
			t.Errorf("%s: what is a pull request? %s", query, got)
		}
	}
}

var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// TestPages follows the links, which keep the prefix and the query.
func TestPages(t *testing.T) {
	for query, want := range map[string][]int{
		"":                    {30, 30, 30, 30, 30, 30, 30, 30, 10},
		"?per_page=100":       {100, 100, 50},
		"?per_page=1000":      {100, 100, 50},
		"?per_page=125":       {100, 100, 50},
		"?per_page=50":        {50, 50, 50, 50, 50},
		"?page=4&per_page=80": {10},
		"?page=9&per_page=80": {0},
	} {
		sim, root := serve(t, "")
		sim.AddIssue(repo, "bob", "x", "")
		for i := range 250 {
			sim.AddComment(repo, 1, "bob", fmt.Sprint(i))
		}
		var got []int
		seen := map[string]bool{}
		for url := root + "/repos/acme/infra/issues/1/comments" + query; url != ""; {
			response := ask(t, "GET", url, "token-of-alice", "")
			var page []commentJSON
			if err := json.Unmarshal([]byte(response.body), &page); err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				seen[c.Body] = true
			}
			got, url = append(got, len(page)), ""
			if next := nextLink.FindStringSubmatch(response.header.Get("Link")); next != nil {
				url = next[1]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		if !strings.Contains(query, "page=4") && !strings.Contains(query, "page=9") && len(seen) != 250 {
			t.Errorf("%s: %d different comments", query, len(seen))
		}
	}
}

// TestLinks compares one header with the documentation's example.
func TestLinks(t *testing.T) {
	sim, root := serve(t, "")
	for range 6 {
		sim.AddIssue(repo, "bob", "x", "")
	}
	response := ask(t, "GET", root+"/repos/acme/infra/issues?per_page=2&page=2", "token-of-alice", "")
	page := root + "/repos/acme/infra/issues?page=%d&per_page=2"
	want := fmt.Sprintf(`<`+page+`>; rel="prev", <`+page+`>; rel="next", <`+page+`>; rel="last", <`+page+`>; rel="first"`, 1, 3, 3, 1)
	if diff := cmp.Diff(want, response.header.Get("Link")); diff != "" {
		t.Error(diff)
	}
}

func TestDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "github.json")
	first, root := serve(t, path)
	first.AddPull(repo, "alice", "Add a subnet", "Please.", "net")
	if got := ask(t, "POST", root+"/repos/acme/infra/issues/1/comments", "token-of-actions", `{"body": "two to add"}`); got.status != 201 {
		t.Fatal(got)
	}
	second, root := serve(t, path)
	if diff := cmp.Diff(first.Issues(repo), second.Issues(repo)); diff != "" {
		t.Error(diff)
	}
	if got := second.Comments(repo, 1); len(got) != 1 || got[0].Body != "two to add" || got[0].Author != Bot {
		t.Errorf("got %+v", got)
	}
	// An ID is never given twice.
	if id := second.AddComment(repo, 1, "bob", "thanks"); id <= second.Comments(repo, 1)[0].ID {
		t.Errorf("the next ID is %d", id)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	t.Run("a folder that is gone", func(t *testing.T) {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, "POST", root+"/repos/acme/infra/issues/1/comments", "token-of-actions", `{"body": "x"}`); got.status != 500 {
			t.Errorf("what cannot be kept is answered with %d", got.status)
		}
	})
	t.Run("a broken file", func(t *testing.T) {
		broken := filepath.Join(t.TempDir(), "github.json")
		if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(broken); err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestListing(t *testing.T) {
	sim, root := serve(t, "")
	sim.AddPull(repo, "alice", "Add a subnet", "Please.\r\nSoon.", "net")
	sim.AddComment(repo, 1, Bot, "<b>two</b> to add\nnone to destroy")
	sim.AddIssue("acme/other", "bob", "Broken", "")
	all := ask(t, "GET", root+"/", "", "")
	if got := all.header.Get("Content-Type"); all.status != 200 || got != "text/plain; charset=utf-8" {
		t.Errorf("got %d, %s", all.status, got)
	}
	pull := "\nPull request #1, open, by alice: Add a subnet\nLabels: net\n    Please.\n    Soon.\n\n  Comment by github-actions[bot], "
	for _, want := range []string{"\nacme/infra\n==========\n", pull, ":\n    <b>two</b> to add\n    none to destroy\n", "\nacme/other\n", "Issue #1, open, by bob: Broken\n"} {
		if !strings.Contains(all.body, want) {
			t.Errorf("there is no %q in\n%s", want, all.body)
		}
	}
	// The address that the API gives leads a human there.
	body := ask(t, "POST", root+"/repos/acme/infra/issues/1/comments", "token-of-actions", `{"body": "and more"}`).body
	var comment commentJSON
	if err := json.Unmarshal([]byte(body), &comment); err != nil {
		t.Fatal(err)
	}
	if one := ask(t, "GET", comment.HTMLURL, "", "").body; !strings.HasPrefix(one, pull) || !strings.Contains(one, "and more") || strings.Contains(one, "Broken") {
		t.Errorf("%s shows\n%s", comment.HTMLURL, one)
	}
	if got := ask(t, "GET", root+"/web/acme/infra/issues/9", "", ""); got.status != 404 {
		t.Errorf("what is not there: %d", got.status)
	}
}

func TestFaults(t *testing.T) {
	const comments = "/repos/acme/infra/issues/1/comments"
	post := func(t *testing.T, root string) int {
		t.Helper()
		return ask(t, "POST", root+comments, "token-of-alice", `{"body": "x"}`).status
	}
	t.Run("skip and times", func(t *testing.T) {
		sim, root := serve(t, "")
		sim.AddIssue(repo, "bob", "x", "")
		sim.Inject(Fault{Method: "POST", Path: "/comments", Skip: 1, Times: 2, Status: 503})
		var got []int
		for range 4 {
			got = append(got, post(t, root))
			if got := ask(t, "GET", root+comments, "token-of-alice", ""); got.status != 200 {
				t.Errorf("another request: %d", got.status)
			}
		}
		if diff := cmp.Diff([]int{201, 503, 503, 201}, got); diff != "" {
			t.Error(diff)
		}
		if got := len(sim.Writes()); got != 4 || len(sim.Comments(repo, 1)) != 2 {
			t.Errorf("%d writes, %d comments", got, len(sim.Comments(repo, 1)))
		}
	})
	t.Run("after the effect", func(t *testing.T) {
		sim, root := serve(t, "")
		sim.AddIssue(repo, "bob", "x", "")
		sim.Inject(BadGateway(true))
		if got := post(t, root); got != 502 || len(sim.Comments(repo, 1)) != 1 {
			t.Errorf("got %d, %d comments", got, len(sim.Comments(repo, 1)))
		}
	})
	t.Run("dropped", func(t *testing.T) {
		sim, root := serve(t, "")
		sim.AddIssue(repo, "bob", "x", "")
		sim.Inject(Fault{Effect: true, Drop: true})
		request, err := http.NewRequest("POST", root+comments, strings.NewReader(`{"body": "x"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer token-of-alice")
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			t.Errorf("got %d", response.StatusCode)
		}
		if got := len(sim.Comments(repo, 1)); got != 1 {
			t.Errorf("there are %d comments", got)
		}
	})
	t.Run("limits", func(t *testing.T) {
		sim, root := serve(t, "")
		for _, f := range []Fault{SecondaryLimit(429, 7), SecondaryLimit(403, -1), PrimaryLimit(time.Unix(1_900_000_000, 0))} {
			f.Times = 1
			sim.Inject(f)
		}
		for _, want := range []string{"429,7,,", "403,,,", "403,,0,1900000000"} {
			response := ask(t, "GET", root+comments, "token-of-alice", "")
			got := fmt.Sprint(response.status)
			for _, name := range []string{"Retry-After", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				got += "," + response.header.Get(name)
			}
			if got != want || !strings.Contains(response.body, "documentation_url") {
				t.Errorf("got %s %s, want %s", got, response.body, want)
			}
		}
	})
	t.Run("slow", func(t *testing.T) {
		sim, root := serve(t, "")
		sim.AddIssue(repo, "bob", "x", "")
		others := false
		sim.Inject(Fault{Delay: 20 * time.Millisecond, Before: func() { others = true }})
		begun := time.Now()
		if got := post(t, root); got != 201 || time.Since(begun) < 20*time.Millisecond || !others { //nolint:forbidigo // a lower limit
			t.Errorf("got %d, or it came too early", got)
		}
	})
}

// TestConcurrent is for the race detector, and loses nothing.
func TestConcurrent(t *testing.T) {
	sim, root := serve(t, filepath.Join(t.TempDir(), "github.json"))
	sim.AddIssue(repo, "bob", "x", "")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			ask(t, "POST", root+"/repos/acme/infra/issues/1/comments", "token-of-alice", fmt.Sprintf(`{"body": "%d"}`, i))
			ask(t, "GET", root+"/", "", "")
			sim.Issues(repo)
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, c := range sim.Comments(repo, 1) {
		seen[fmt.Sprint(c.ID, c.Body)] = true
	}
	if len(seen) != 16 {
		t.Errorf("there are %d comments", len(seen))
	}
}
