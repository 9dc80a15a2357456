//go:build blackbox

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/dev/cloudsim/githubsim"
	"slipway/internal/run"
)

const repository = "acme/infra"

// A hub is a GitHub in this process with one pull request, number 1.
type hub struct {
	*githubsim.Server
	t              *testing.T
	url            string
	context, token string // folder and file
}

func newHub(t *testing.T) *hub {
	t.Helper()
	sim, err := githubsim.Open("")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	h := &hub{Server: sim, t: t, url: server.URL, context: t.TempDir(), token: filepath.Join(t.TempDir(), "token")}
	h.AddPull(repository, "alice", "Add a host", "Please.")
	h.write(h.token, "token-of-actions\n")
	h.on("pull_request")
	return h
}

func (h *hub) write(path, text string) {
	h.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// on makes the next stages run for an event; fork says who opened the pull request.
func (h *hub) on(event string) {
	h.t.Helper()
	h.write(filepath.Join(h.context, "env"), fmt.Sprintf("GITHUB_REPOSITORY=%s\nGITHUB_EVENT_NAME=%s\nGITHUB_RUN_ID=17\nGITHUB_API_URL=%s\nGITHUB_SERVER_URL=https://github.example.org\n", repository, event, h.url))
	payload := "{}"
	if event == "pull_request" {
		payload = `{"number": 1, "pull_request": {"number": 1, "head": {"sha": "` + strings.Repeat("a", 40) + `", "repo": {"full_name": "acme/infra"}}, "base": {"repo": {"full_name": "acme/infra"}}}}`
	}
	h.write(filepath.Join(h.context, "event.json"), payload)
}

// options have a stage read the results of these environments.
func (h *hub) options(results map[string]ended, expected ...string) func(*call) {
	h.t.Helper()
	folder := h.t.TempDir()
	for name, e := range results {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(e.out)); err != nil {
			h.t.Fatal(err)
		}
	}
	return func(o *call) {
		o.Env = ""
		o.add("--results=" + folder)
		o.add("--envs=" + strings.Join(expected, ","))
		o.add("--github=" + h.context)
		o.add("--token=" + h.token)
	}
}

// dryRun is an option.
func dryRun(o *call) { o.add("--dry-run") }

// The plans of all environments are in one comment, which is edited in place.
func TestBlackBoxComment(t *testing.T) {
	p := newProject(t, one)
	h := newHub(t)
	failed := p.run("plan").must(t, run.BadInput)
	p.run("bootstrap").must(t, run.Done)
	planned := p.run("plan", keep).must(t, run.Changes)
	digest := planned.result.Digest
	if !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("the digest of the plan is %q", digest)
	}
	planned.says(t, "test: the digest of this plan is "+digest+"\n")

	with := h.options(map[string]ended{"test": planned}, "test")
	p.run("report", with, dryRun).must(t, run.Done).says(t, "## Plans", digest, "Plan: 1 to create.", "terraform_data.one")
	if writes := h.Writes(); len(writes) > 0 {
		t.Errorf("the dry run writes: %q", writes)
	}
	p.run("report", with).must(t, run.Done).says(t, "the comment is created: ")
	p.run("report", with).must(t, run.Done).says(t, "the comment is unchanged: ")

	// One that left nothing, and one that was refused, are in it and fail the job.
	p.run("report", h.options(map[string]ended{"test": failed}, "prod", "test")).must(t, run.Failed).
		says(t, "the comment is updated: ", "could not be planned: prod, test", "prod: its plan ended without a result", "has not been prepared for environment test")
	comments := h.Comments(repository, 1)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "2 environments could not be planned") {
		t.Errorf("got %+v", comments)
	}

	h.on("push")
	p.run("report", with).must(t, run.Done).says(t, "the event push has no pull request to comment on", "## Plans")
	for name, c := range map[string]struct {
		change func(*call)
		says   []string
	}{
		"no token":       {func(o *call) { o.add("--token=/nonexistent") }, []string{"no token for GitHub was given", "hint: --token=env://GITHUB_TOKEN"}},
		"no context":     {func(o *call) { o.add("--github=/nonexistent") }, []string{"the GitHub repository is not known", "hint: mkdir -p .slipway/github"}},
		"no results":     {func(o *call) { o.add("--results=" + t.TempDir()); o.add("--envs=") }, []string{"there are no results of any environment"}},
		"no environment": {func(o *call) { o.add("--envs=../etc") }, []string{`"../etc" cannot be the name of an environment`}},
	} {
		h.on("pull_request")
		before := len(h.Writes())
		e := p.run("report", with, c.change)
		if e.code != run.BadInput || len(h.Writes()) != before {
			t.Errorf("%s: exit code %d", name, e.code)
		}
		e.says(t, c.says...)
	}
}

// One issue per environment opens, reports a failed check, and closes itself.
func TestBlackBoxDriftIssue(t *testing.T) {
	p := newProject(t, "")
	c, h := p.onCloud(), newHub(t)
	h.on("schedule")
	p.run("up").must(t, run.Done)
	issue := func(code int, says string) {
		t.Helper()
		e := p.run("drift")
		p.run("drift-issues", h.options(map[string]ended{"test": e}, "test")).must(t, code).says(t, says)
	}
	open := func(want bool, texts ...string) {
		t.Helper()
		issues := h.Issues(repository)
		last := issues[len(issues)-1]
		if len(issues) != 2 || last.Open != want { // the first is the pull request
			t.Fatalf("got %+v", issues)
		}
		for _, text := range texts {
			if !strings.Contains(last.Title+last.Body, text) {
				t.Errorf("the issue does not say %q: %+v", text, last)
			}
		}
	}
	issue(run.Done, "no issue is open, and none is needed")
	c.call(http.MethodDelete, "/compute/v2.1/os-keypairs/operator", "", http.StatusAccepted)
	issue(run.Done, "the issue is created")
	open(true, "Environment test does not match its code: 1 changed in the cloud", "openstack_compute_keypair_v2.operator was deleted in the cloud", "Found once in a row", "dagger call plan --env=test")
	issue(run.Done, "the issue is updated")
	open(true, "Found 2 times in a row")

	// The result is unknown: that is neither drift nor its end.
	password := p.secret["OS_PASSWORD"]
	p.secret["OS_PASSWORD"] = ""
	p.seal()
	issue(run.Done, "the issue is updated")
	open(true, "could not be checked for drift", "because the check fails", "tofu plan of test failed")
	p.run("drift-issues", h.options(nil, "test")).must(t, run.Done).says(t, "the issue is updated")
	open(true, "it ended without a result")

	p.secret["OS_PASSWORD"] = password
	p.seal()
	p.run("apply").must(t, run.Done)
	issue(run.Done, "the issue is closed")
	open(false, "matches its code")
	issue(run.Done, "the issue is unchanged")

	// Three in a row, and one broken environment beside it.
	file, err := os.ReadFile(filepath.Join(p.dir, "environments/test/environment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("environments/test/environment.yaml", string(file)+"drift: {after: 3}\n")
	c.call(http.MethodDelete, "/compute/v2.1/os-keypairs/operator", "", http.StatusAccepted)
	for n := 1; n < 3; n++ {
		issue(run.Done, fmt.Sprintf("an issue opens after 3 such checks in a row, and this is number %d", n))
		open(false)
	}
	e := p.run("drift")
	broken := ended{out: t.TempDir()}
	p.file(filepath.Join(broken.out, "drift.json"), "{")
	p.run("drift-issues", h.options(map[string]ended{"test": e, "broken": broken})).must(t, run.Failed).says(t, "the check of broken has a version that is not supported", "test: the issue is reopened")
	open(true, "Found 3 times in a row")
}

// No secret gets to where a reviewer looks, even if it is in an attribute on the allow-list; and no
// value that is not on the list does.
func TestBlackBoxReviewCanaries(t *testing.T) {
	p := newProject(t, "")
	c, h := p.onCloud(), newHub(t)
	canaries := map[string]string{
		"in an open attribute":       "canary-in-an-open-attribute-1",
		"in a variable":              "canary-in-a-variable-2",
		"in a default":               "canary-in-a-default-3",
		"in the cloud":               "canary-in-the-cloud-4",
		"in a sensitive variable":    "canary-in-a-sensitive-variable-5",
		"in an output":               "canary-in-an-output-6",
		"of the provider":            "canary-of-the-provider-7",
		"of GitHub":                  "token-of-canary",
		"in a sensitive attribute":   "canary-in-a-sensitive-attribute-8",
		"in a condition's message":   "canary-in-a-message-9",
		"the passphrase":             "canary-passphrase-of-the-state-4fQ9zR7tWk2X",
		"in a constant of a module":  "canary-in-a-module-10",
		"in an attribute to be gone": "canary-in-what-is-deleted-11",
	}
	h.write(h.token, canaries["of GitHub"])
	code := c.code("operator") + `
variable "open" {}
variable "hidden" { sensitive = true }
variable "default" { default = "` + canaries["in a default"] + `" }
resource "openstack_compute_keypair_v2" "open" {
  name       = "open"
  public_key = "` + strings.Replace(cloudKey, "operator@example.org", canaries["in an open attribute"], 1) + `"
}
resource "openstack_compute_keypair_v2" "named" {
  name       = nonsensitive(var.hidden)
  public_key = "` + cloudKey + `"
}
resource "terraform_data" "values" {
  input = { open = var.open, default = var.default, hidden = var.hidden, more = "` + canaries["in a constant of a module"] + `" }
}
resource "terraform_data" "marked" { input = sensitive("` + canaries["in a sensitive attribute"] + `") }
%s
output "open" { value = "` + canaries["in an output"] + `" }
check "one" {
  assert {
    condition     = var.open == ""
    error_message = "` + canaries["in a condition's message"] + ` ${var.open}"
  }
}
`
	p.secret["TF_VAR_open"], p.secret["TF_VAR_hidden"] = canaries["in a variable"], canaries["in a sensitive variable"]
	p.secret["OS_PASSWORD"], p.secret["STATE_PASSPHRASE"] = canaries["of the provider"], canaries["the passphrase"]
	p.seal()
	p.write("environments/test/main.tf", fmt.Sprintf(code, `resource "terraform_data" "gone" { input = "`+canaries["in an attribute to be gone"]+`" }`))

	look := func(e ended) ended {
		t.Helper()
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("it leaks %q:\n%s%s", found, e.stdout, e.stderr)
		}
		return e
	}
	look(p.run("bootstrap").must(t, run.Done))
	review := func() {
		t.Helper()
		planned := look(p.run("plan", keep).must(t, run.Changes))
		look(p.run("report", h.options(map[string]ended{"test": planned}), func(o *call) { o.add("--dry-run") }).must(t, run.Done))
		look(p.run("report", h.options(map[string]ended{"test": planned})).must(t, run.Done))
		checked := look(p.run("drift").must(t, run.Changes))
		look(p.run("drift-issues", h.options(map[string]ended{"test": checked})).must(t, run.Done))
	}
	review()
	applied := p.run("apply", reviewedPlan).must(t, run.Done)
	// The output is open, and an apply shows outputs; the rest of it shows none.
	if found := leaked(strings.ReplaceAll(applied.left(t), canaries["in an output"], ""), canaries); len(found) > 0 {
		t.Errorf("the apply leaks %q", found)
	}
	// Now each value is in what changes, in what is deleted, and in what differs in the cloud.
	c.call(http.MethodDelete, "/compute/v2.1/os-keypairs/open", "", http.StatusAccepted)
	body, err := json.Marshal(map[string]any{"keypair": map[string]string{"name": "open", "public_key": strings.Replace(cloudKey, "operator@example.org", canaries["in the cloud"], 1)}})
	if err != nil {
		t.Fatal(err)
	}
	c.call(http.MethodPost, "/compute/v2.1/os-keypairs", string(body), http.StatusOK)
	p.write("environments/test/main.tf", strings.NewReplacer("hidden = var.hidden", `hidden = "x${var.hidden}"`, "nonsensitive(var.hidden)", `"renamed"`).Replace(fmt.Sprintf(code, "")))
	review()

	comments, issues := h.Comments(repository, 1), h.Issues(repository)
	if len(comments) != 1 || len(issues) != 2 {
		t.Fatalf("%d comments, %d issues", len(comments), len(issues))
	}
	public := fmt.Sprintf("%+v %+v", comments, issues)
	for _, text := range []string{"openstack_compute_keypair_v2.open", "public_key", "openstack_compute_keypair_v2.named", "forced by name", "terraform_data.gone", "terraform_data.values", "1 to delete"} {
		if !strings.Contains(public, text) {
			t.Errorf("GitHub does not show %q:\n%s", text, public)
		}
	}
	for _, prefix := range []string{"plans/", "drift/"} {
		objects, err := p.bucket().List(t.Context(), prefix)
		if err != nil || len(objects) == 0 {
			t.Fatal(prefix, err)
		}
		for _, o := range objects {
			public += string(p.get(o.Key))
		}
	}
	if found := leaked(public, canaries); len(found) > 0 {
		t.Errorf("it leaks %q:\n%s", found, public)
	}
	if len(leaked(public+canaries["in the cloud"], canaries)) == 0 {
		t.Error("the search finds nothing")
	}
}
