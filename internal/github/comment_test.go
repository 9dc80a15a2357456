package github

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/dev/cloudsim/githubsim"

	"github.com/google/go-cmp/cmp"
)

const planMarker = "<!-- slipway:plan -->"

func putComment(t *testing.T, c *Client, body string) Outcome {
	t.Helper()
	out, err := c.PutComment(t.Context(), repo, 1, "plan", body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPutComment(t *testing.T) {
	sim, client, slept := start(t)
	created := putComment(t, client, "two to add")
	once(t, sim.Comments(repo, 1), planMarker+"\ntwo to add")
	if created.Action != Created || !strings.Contains(created.URL, "/github/web/acme/infra/pull/1#issuecomment-") {
		t.Errorf("got %+v", created)
	}
	updated := putComment(t, client, "three to add")
	once(t, sim.Comments(repo, 1), planMarker+"\nthree to add")
	if diff := cmp.Diff(Outcome{Action: Updated, URL: created.URL}, updated); diff != "" {
		t.Error(diff)
	}
	writes := len(sim.Writes())
	unchanged := putComment(t, client, "three to add")
	if diff := cmp.Diff(Outcome{Action: Unchanged, URL: created.URL}, unchanged); diff != "" {
		t.Error(diff)
	}
	if got := sim.Writes()[writes:]; len(got) > 0 {
		t.Errorf("an unchanged comment is written: %q", got)
	}
	// A comment of another kind is another comment.
	if out, err := client.PutComment(t.Context(), repo, 1, "plan/prod", "other"); err != nil || out.Action != Created {
		t.Errorf("got %+v, %v", out, err)
	}
	if asked := count(sim.Requests(), "POST /graphql"); asked != 1 {
		t.Errorf("GitHub was asked %d times who we are", asked)
	}
	if len(slept.list) > 0 {
		t.Errorf("waits of %v", slept.list)
	}
}

func count(list []string, what string) int {
	n := 0
	for _, is := range list {
		if is == what {
			n++
		}
	}
	return n
}

func TestCommentOnLastPage(t *testing.T) {
	sim, client, _ := start(t)
	for i := range 349 {
		sim.AddComment(repo, 1, "bob", fmt.Sprintf("comment %d", i))
	}
	id := sim.AddComment(repo, 1, githubsim.Bot, planMarker+"\nold")
	if out := putComment(t, client, "new"); out.Action != Updated {
		t.Errorf("got %+v", out)
	}
	comments := sim.Comments(repo, 1)
	if len(comments) != 350 || comments[349].ID != id {
		t.Errorf("there are %d comments", len(comments))
	}
	once(t, comments, planMarker+"\nnew")
}

// TestNotOurs: none of these comments is taken for ours.
func TestNotOurs(t *testing.T) {
	for name, c := range map[string]struct{ author, body string }{
		"another's, spoofed":     {"mallory", planMarker + "\nall is well"},
		"another's, quoted":      {"bob", "> " + planMarker + "\n> old\n\nwhy?"},
		"ours, quoted":           {githubsim.Bot, "> " + planMarker + "\n> old"},
		"ours, in the middle":    {githubsim.Bot, "see:\n" + planMarker + "\nold"},
		"ours, not alone":        {githubsim.Bot, planMarker + " and more\nold"},
		"ours, after a space":    {githubsim.Bot, " " + planMarker + "\nold"},
		"ours, of another kind":  {githubsim.Bot, "<!-- slipway:plan/prod -->\nold"},
		"ours, of a longer kind": {githubsim.Bot, "<!-- slipway:plans -->\nold"},
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, _ := start(t)
			sim.AddComment(repo, 1, c.author, c.body)
			if out := putComment(t, client, "new"); out.Action != Created {
				t.Errorf("got %+v", out)
			}
			comments := sim.Comments(repo, 1)
			if len(comments) != 2 || comments[0].Body != c.body || comments[1].Body != planMarker+"\nnew" {
				t.Errorf("there are %+v", comments)
			}
		})
	}
}

// TestSameText: GitHub's changes of line ends and white space do not count as a change.
func TestSameText(t *testing.T) {
	for name, is := range map[string]string{
		"as it was sent":    planMarker + "\na\n\nb",
		"CRLF":              planMarker + "\r\na\r\n\r\nb",
		"a line end at end": planMarker + "\na\n\nb\n",
		"trailing space":    planMarker + "\r\na\r\n\r\nb \r\n",
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, _ := start(t)
			sim.AddComment(repo, 1, githubsim.Bot, is)
			if out := putComment(t, client, "a\r\n\nb\n\n"); out.Action != Unchanged {
				t.Errorf("got %+v", out)
			}
			if got := sim.Writes(); len(got) > 0 {
				t.Errorf("it is written: %q", got)
			}
		})
	}
}

func TestDuplicateComments(t *testing.T) {
	sim, client, _ := start(t)
	oldest := sim.AddComment(repo, 1, githubsim.Bot, planMarker+"\nold")
	foreign := sim.AddComment(repo, 1, "mallory", planMarker+"\nold")
	sim.AddComment(repo, 1, githubsim.Bot, planMarker+"\nnew")
	gone := sim.AddComment(repo, 1, githubsim.Bot, planMarker+"\nolder")
	// One of them is deleted by somebody else just then.
	sim.Inject(githubsim.Fault{Method: "DELETE", Path: fmt.Sprint(gone), Before: func() { sim.RemoveComment(repo, gone) }})
	if out := putComment(t, client, "new"); out.Action != Updated || out.Removed != 1 {
		t.Errorf("got %+v", out)
	}
	var ids []int64
	for _, c := range sim.Comments(repo, 1) {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]int64{oldest, foreign}, ids); diff != "" {
		t.Error(diff)
	}
	once(t, sim.Comments(repo, 1), planMarker+"\nnew")
}

// TestCommentDeletedMeanwhile: between the look and the edit.
func TestCommentDeletedMeanwhile(t *testing.T) {
	sim, client, _ := start(t)
	id := sim.AddComment(repo, 1, githubsim.Bot, planMarker+"\nold")
	sim.Inject(githubsim.Fault{Method: "PATCH", Times: 1, Before: func() { sim.RemoveComment(repo, id) }})
	if out := putComment(t, client, "new"); out.Action != Created || out.URL == "" {
		t.Errorf("got %+v", out)
	}
	once(t, sim.Comments(repo, 1), planMarker+"\nnew")
}

func TestPutCommentRefuses(t *testing.T) {
	full := strings.Repeat("é", Room("plan"))
	for name, c := range map[string]struct {
		repository, kind, body string
		number                 int
		want                   string
	}{
		"a long text":         {repo, "plan", full + "é", 1, "65537 characters"},
		"no number":           {repo, "plan", "x", 0, "pull request or issue 0"},
		"no owner":            {"infra", "plan", "x", 1, `"infra"`},
		"a path":              {"acme/..", "plan", "x", 1, `"acme/.."`},
		"a longer path":       {"acme/infra/x", "plan", "x", 1, `"acme/infra/x"`},
		"no kind":             {repo, "", "x", 1, `""`},
		"capitals":            {repo, "Plan", "x", 1, `"Plan"`},
		"the end of a marker": {repo, "plan-->", "x", 1, `"plan-->"`},
		"two hyphens":         {repo, "plan--prod", "x", 1, `"plan--prod"`},
		"a line end":          {repo, "plan\n", "x", 1, `"plan\n"`},
		"a hyphen first":      {repo, "-plan", "x", 1, `"-plan"`},
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, _ := start(t)
			_, err := client.PutComment(t.Context(), c.repository, c.number, c.kind, c.body)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if got := sim.Requests(); len(got) > 0 {
				t.Errorf("GitHub was asked: %q", got)
			}
		})
	}
	t.Run("and takes what just fits", func(t *testing.T) {
		sim, client, _ := start(t)
		putComment(t, client, full)
		once(t, sim.Comments(repo, 1), planMarker+"\n"+full)
	})
}

// TestDelimiter: a text with the delimiter that a library uses in the files with which a step
// passes outputs to GitHub Actions is treated like any other text, and these files are not touched.
func TestDelimiter(t *testing.T) {
	text := "before\n_GitHubActionsFileCommandDelimeter_\nadmin=true\nx<<_GitHubActionsFileCommandDelimeter_\n::set-output name=a::b"
	files := map[string]string{}
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"} {
		files[name] = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(files[name], []byte("was here\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, files[name])
	}
	values := pullRequest(t, map[string]any{"title": text, "body": text})
	run, err := ReadContext(func(name string) string {
		if file, ok := files[name]; ok {
			return file
		}
		return values[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%+v", run); strings.Contains(shown, "Delimeter") || strings.Contains(shown, "\n") {
		t.Errorf("the text got into the context: %s", shown)
	}
	sim, client, _ := start(t)
	putComment(t, client, text)
	once(t, sim.Comments(repo, 1), planMarker+"\n"+text)
	for name, file := range files {
		if data, err := os.ReadFile(file); err != nil || string(data) != "was here\n" {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
}

// TestConcurrentPuts: a client may be used by several goroutines.
func TestConcurrentPuts(t *testing.T) {
	sim, client, _ := start(t)
	failed := make(chan error)
	for i := range 8 {
		go func() {
			_, err := client.PutComment(t.Context(), repo, 1, fmt.Sprintf("layer-%d", i), "text")
			failed <- err
		}()
	}
	for range 8 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	var bodies []string
	for _, c := range sim.Comments(repo, 1) {
		bodies = append(bodies, c.Body)
	}
	slices.Sort(bodies)
	if len(slices.Compact(bodies)) != 8 || count(sim.Requests(), "POST /graphql") != 1 {
		t.Errorf("got %q, by %q", bodies, sim.Requests())
	}
}
