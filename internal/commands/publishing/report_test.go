package publishing

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/dev/cloudsim/githubsim"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/report"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

const forgeRepository = "acme/infra"

// A forge is a session that comments on pull request 1 of a GitHub in this process, with
// the plan of test, which makes a.b.
type forge struct {
	*run.Run
	o githubOptions
	*githubsim.Server
	t              *testing.T
	stdout, stderr *bytes.Buffer
}

// forgeJob is what GitHub says of the job, but for its event.
const forgeJob = "GITHUB_REPOSITORY=" + forgeRepository + "\nGITHUB_SERVER_URL=https://github.example.org\n"

func newForge(t *testing.T) *forge {
	t.Helper()
	sim, err := githubsim.Open("")
	must.Do(t, err)
	sim.AddPull(forgeRepository, "alice", "Add a host", "Please.")
	f := &forge{Server: sim, t: t}
	f.Run, f.stdout, f.stderr = testkit.Quiet(t, run.Command{Name: "report"})
	f.Env = ""
	f.o = githubOptions{results: t.TempDir(), context: t.TempDir(), token: filepath.Join(t.TempDir(), "token")}
	must.Do(t, os.WriteFile(f.o.token, []byte("token-of-actions\n"), 0o600))
	f.on("pull_request", "GITHUB_RUN_ID=17\n")
	f.pull(forgeRepository)
	f.planned("test", report.Environment{Name: "test", Layers: []report.Layer{{Name: "test", Summary: plan.Summary{Changes: []plan.Change{{Address: "a.b", Action: plan.Create}}}}}})
	return f
}

// on has an event as the cause, and more variables of the job.
func (f *forge) on(event, more string) {
	f.t.Helper()
	server := httptest.NewServer(f.Server)
	f.t.Cleanup(server.Close)
	text := forgeJob + "GITHUB_API_URL=" + server.URL + "\nGITHUB_EVENT_NAME=" + event + "\n" + more
	must.Do(f.t, os.WriteFile(filepath.Join(f.o.context, "env"), []byte(text), 0o600))
	must.Do(f.t, os.RemoveAll(filepath.Join(f.o.context, "event.json")))
}

// pull has the event be of a pull request from a repository.
func (f *forge) pull(from string) {
	f.t.Helper()
	text := `{"number": 1, "pull_request": {"number": 1, "head": {"sha": "` + strings.Repeat("a", 40) + `", "repo": {"full_name": "` + from + `"}}, "base": {"repo": {"full_name": "` + forgeRepository + `"}}}}`
	must.Do(f.t, os.WriteFile(filepath.Join(f.o.context, "event.json"), []byte(text), 0o600))
}

// planned leaves what the plan of an environment found.
func (f *forge) planned(folder string, e report.Environment) {
	f.t.Helper()
	data, err := json.Marshal(e)
	must.Do(f.t, err)
	f.leave(folder, string(data))
}

func (f *forge) leave(folder, summary string) {
	f.t.Helper()
	path := filepath.Join(f.o.results, folder, report.FileName)
	must.Do(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(f.t, os.WriteFile(path, []byte(summary), 0o600))
}

// body is the one comment's, without its marker; empty if there is none.
func (f *forge) body() string {
	f.t.Helper()
	comments := f.Comments(forgeRepository, 1)
	if len(comments) > 1 {
		f.t.Fatalf("%+v", comments)
	}
	for _, c := range comments {
		_, body, _ := strings.Cut(c.Body, "\n")
		return body
	}
	return ""
}

// shown is what the job's summary shows.
func (f *forge) shown() string {
	return f.Report.Masked(func(text string) string { return text })
}

const forgeRun = "https://github.example.org/acme/infra/actions/runs/17"

// The plans are in one comment on the pull request, with the run that made them, and in the job
// summary.
func TestComment(t *testing.T) {
	f := newForge(t)
	must.Do(t, comment(t.Context(), f.Run, f.o))
	for where, text := range map[string]string{"the comment": f.body(), "the summary": f.shown()} {
		if !strings.HasPrefix(text, "## Plans\n\n") || !strings.Contains(text, "1 to create") || !strings.Contains(text, "a.b") {
			t.Errorf("%s is %q", where, text)
		}
		if !strings.Contains(text, "\nBy [this run]("+forgeRun+") of aaaaaaa. After the merge it is planned again") {
			t.Errorf("%s is %q", where, text)
		}
	}
	if got := f.stderr.String(); !strings.HasPrefix(got, "the comment is created: http") {
		t.Errorf("it says %q", got)
	}
}

// The comment names the run and the commit as far as GitHub says them.
func TestCommentFooter(t *testing.T) {
	for name, c := range map[string]struct{ more, has, hasNot string }{
		"no run":    {"", "## Plans", "this run"},
		"no commit": {"GITHUB_RUN_ID=17\n", "By [this run](" + forgeRun + "). After", " of "},
		"a commit":  {"GITHUB_RUN_ID=17\nGITHUB_SHA=" + strings.Repeat("b", 40) + "\n", "By [this run](" + forgeRun + ") of bbbbbbb. After", "bbbbbbbb"},
	} {
		f := newForge(t)
		f.on("push", c.more)
		must.Do(t, comment(t.Context(), f.Run, f.o))
		if got := f.shown(); !strings.Contains(got, c.has) || strings.Contains(got, c.hasNot) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Where there is no pull request to comment on, or none that takes it, the summary of the
// job has to do. A dry run needs no GitHub at all.
func TestCommentNowhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *forge)
		says   string
	}{
		"a push":         {func(f *forge) { f.on("push", "") }, "the event push has no pull request to comment on\n"},
		"a fork":         {func(f *forge) { f.pull("eve/infra") }, "pull request 1 comes from a fork, whose runs may not comment\n"},
		"a dry run":      {func(f *forge) { f.o.dryRun = true }, ""},
		"without GitHub": {func(f *forge) { f.o.dryRun, f.o.context = true, "/nonexistent" }, ""},
	} {
		f := newForge(t)
		c.change(f)
		must.Do(t, comment(t.Context(), f.Run, f.o))
		if writes := f.Writes(); len(writes) > 0 || f.stderr.String() != c.says || !strings.Contains(f.shown(), "1 to create") {
			t.Errorf("%s: it writes %q and says %q: %s", name, writes, f.stderr.String(), f.shown())
		}
	}
}

// A plan that failed, or left nothing, is in the comment, and fails the job.
func TestCommentFailed(t *testing.T) {
	f := newForge(t)
	f.planned("prod", report.Environment{Name: "prod", Error: "no wood is left"})
	f.o.envs = []string{"lab"}
	if err := comment(t.Context(), f.Run, f.o); err == nil || err.Error() != "could not be planned: lab, prod" {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"1 to create", "no wood is left", "its plan ended without a result"} {
		if body := f.body(); !strings.Contains(body, want) {
			t.Errorf("it does not say %q: %s", want, body)
		}
	}
}

// No comment contains the token or anything else that the mask knows.
func TestCommentMasks(t *testing.T) {
	f := newForge(t)
	f.planned("prod", report.Environment{Name: "prod", Error: "the canary-of-the-cloud, and token-of-actions"})
	f.Mask.Add("canary-of-the-cloud")
	if err := comment(t.Context(), f.Run, f.o); err == nil {
		t.Error("the job does not fail")
	}
	if body := f.body(); strings.Contains(body, "canary") || strings.Contains(body, "token-of") || !strings.Contains(body, "the ***, and ***") {
		t.Errorf("the comment is %s", body)
	}
}

// What cannot be read or written is refused, and nothing is written.
func TestCommentRefuses(t *testing.T) {
	const unknown = "the summary of test has a version that is not supported"
	for name, c := range map[string]struct {
		change func(f *forge)
		want   string
	}{
		"no results":          {func(f *forge) { f.o.results = t.TempDir() }, "there are no results of any environment"},
		"no context":          {func(f *forge) { f.o.context = "/nonexistent" }, "the GitHub repository is not known"},
		"no token":            {func(f *forge) { f.o.token = "/nonexistent" }, "no token for GitHub was given"},
		"a wrong token":       {func(f *forge) { f.Inject(githubsim.Fault{Status: 401, Body: `{"message": "Bad credentials"}`}) }, "Bad credentials"},
		"no JSON":             {func(f *forge) { f.leave("test", "{") }, unknown},
		"of another version":  {func(f *forge) { f.leave("test", `{"name": "test", "layers": 3}`) }, unknown},
		"of a later version":  {func(f *forge) { f.leave("test", `{"name": "test", "version": 3}`) }, unknown},
		"of another's":        {func(f *forge) { f.leave("test", `{"name": "prod"}`) }, unknown},
		"a folder for a file": {func(f *forge) { f.leave("prod/"+report.FileName, "") }, "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForge(t)
			c.change(f)
			err := comment(t.Context(), f.Run, f.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(f.Comments(forgeRepository, 1)) > 0 {
				t.Errorf("got %v and %+v", err, f.Comments(forgeRepository, 1))
			}
		})
	}
}
