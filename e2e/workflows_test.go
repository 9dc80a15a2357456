//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"slipway/internal/must"
	"slipway/internal/testkit"
	"slipway/internal/testkit/artifacts"
)

// A job is a job that GitHub would run: the steps of a workflow, in a checkout, with GitHub's
// values for the expressions.
type job struct {
	t      *testing.T
	dir    string // of the checkout
	temp   string // RUNNER_TEMP
	event  string // file
	values map[string]string
	env    []string

	artifacts artifacts.Store
}

var expression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)

func (j *job) fill(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		value, ok := j.values[expression.FindStringSubmatch(e)[1]]
		if !ok {
			j.t.Fatalf("the test does not know %s", e)
		}
		return value
	})
}

// run runs the steps of a job and returns what they print. It does what actions
// do, as far as it matters here.
func (j *job) run(workflow, id string) result {
	j.t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, ".github/workflows", workflow))
	if err != nil {
		j.t.Fatal(err)
	}
	var file struct {
		Jobs map[string]struct {
			Env   map[string]string `yaml:"env"`
			Steps []struct {
				If   string            `yaml:"if"`
				Uses string            `yaml:"uses"`
				Run  string            `yaml:"run"`
				With map[string]string `yaml:"with"`
				Env  map[string]string `yaml:"env"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		j.t.Fatal(err)
	}
	steps := file.Jobs[id].Steps
	if len(steps) == 0 {
		j.t.Fatalf("%s has no job %s", workflow, id)
	}
	var all result
	bash := func(script string, env map[string]string) bool {
		vars := j.env
		for _, set := range []map[string]string{file.Jobs[id].Env, env} {
			for name, value := range set {
				vars = append(vars, name+"="+j.fill(value))
			}
		}
		r := runIn(j.t, j.dir, vars, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
		all.stdout, all.stderr, all.code = all.stdout+r.stdout, all.stderr+r.stderr, r.code
		return r.code == 0
	}
	for _, s := range steps {
		if s.If != "" && !j.holds(s.If) {
			continue
		}
		action, _, _ := strings.Cut(s.Uses, "@")
		ok := true
		switch action {
		case "":
			ok = bash(s.Run, s.Env)
		case "actions/checkout":
		case "actions/upload-artifact":
			must.Do(j.t, j.artifacts.Upload(j.fill(s.With["name"]), j.fill(s.With["path"])))
		case "actions/download-artifact":
			with := map[string]string{}
			for name, value := range s.With {
				with[name] = j.fill(value)
			}
			must.Do(j.t, j.artifacts.Download(with))
		case "./.github/actions/dagger":
			ok = bash(j.githubFolder(), nil)
		default:
			j.t.Fatalf("the test does not know the action %s", action)
		}
		if !ok {
			break
		}
	}
	return all
}

// holds reports whether a condition, which is one value of the matrix, is true for GitHub.
func (j *job) holds(condition string) bool {
	j.t.Helper()
	value := j.fill("${{ " + condition + " }}")
	return value != "" && value != "false"
}

// githubFolder is the step of our own action that is not the installation.
func (j *job) githubFolder() string {
	text, err := os.ReadFile(filepath.Join(j.dir, ".github/actions/dagger/action.yml"))
	if err != nil {
		j.t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				Run string            `yaml:"run"`
				Env map[string]string `yaml:"env"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		j.t.Fatal(err)
	}
	install := action.Runs.Steps[0]
	if len(action.Runs.Steps) != 2 || !strings.Contains(install.Run, "sha256sum --check") || install.Env["VERSION"] == "" {
		j.t.Fatal("the action does something else than to install and to note")
	}
	return action.Runs.Steps[1].Run
}

// apply runs the jobs of apply.yml, one after the other, and returns what the last one
// prints: that of the plan whose digest the job before it hands on.
func (j *job) apply() result {
	j.t.Helper()
	j.run("apply.yml", "plan").must(j.t)
	output := filepath.Join(j.temp, "output")
	if err := os.RemoveAll(output); err != nil {
		j.t.Fatal(err)
	}
	j.run("apply.yml", "review").must(j.t)
	text, err := os.ReadFile(output)
	if err != nil {
		j.t.Fatal(err)
	}
	var plans []struct {
		Environment, Digest, Checks string
		Playbook                    bool
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("plans=")), &plans); err != nil || len(plans) != 1 || plans[0].Environment != "local" {
		j.t.Fatalf("the job review hands on %s", text)
	}
	j.values["matrix.digest"], j.values["matrix.checks"], j.values["matrix.playbook"] = plans[0].Digest, plans[0].Checks, strconv.FormatBool(plans[0].Playbook)
	return j.run("apply.yml", "apply")
}

// on has the next jobs run for an event.
func (j *job) on(name, payload string) {
	j.t.Helper()
	if err := os.WriteFile(j.event, []byte(payload), 0o600); err != nil {
		j.t.Fatal(err)
	}
	j.env = append(j.env, "GITHUB_EVENT_NAME="+name, "GITHUB_EVENT_PATH="+j.event)
}

// TestWorkflows runs the steps of the four workflows unchanged, on environment local and its
// simulated GitHub: a pull request is planned and shown; what it merges is applied, deployed and
// verified; and a change in the cloud then has an issue until it is reverted.
func TestWorkflows(t *testing.T) {
	testkit.Deep(t, "it runs whole workflows")
	c := newCheckout(t)
	run(t, "sh", "-c", "git ls-files -z --cached --others --exclude-standard -- ci cmd dev internal .github dagger.json go.mod go.sum | xargs -0 cp --parents -t "+c.dir).must(t)
	identity, err := os.ReadFile(c.identity)
	if err != nil {
		t.Fatal(err)
	}
	c.file(t, filepath.Join(c.dir, ".env"), "PINS="+pinsInUse(t)+"\nLOCALDATA="+c.data+"\nGOPROXY="+strings.TrimSpace(run(t, "go", "env", "GOPROXY").must(t).stdout)+"\n")
	more := siteCredentials()
	more["SSH_PRIVATE_KEY"] = c.host
	c.seal(t, more)
	c.call(t, "bootstrap", "--env=local").must(t)

	stop, port := c.serve(t)
	github := "http://127.0.0.1:" + port + "/-/github"
	post := func(url, body string) {
		t.Helper()
		request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer token-of-alice")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			text, _ := io.ReadAll(response.Body)
			t.Fatalf("%s: %s: %s", url, response.Status, text)
		}
	}
	post(github+"/repos/acme/infra/pulls", `{"title": "Add a host", "body": "Please.", "head": "add-a-host", "base": "main"}`)
	stop()
	// shown is all that a human would see on the simulated GitHub.
	shown := func() string {
		t.Helper()
		stop, port := c.serve(t)
		defer stop()
		response, err := http.Get("http://127.0.0.1:" + port + "/-/github/")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	says := func(where string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(where, text) {
				t.Errorf("nobody says %q:\n%s", text, where)
			}
		}
	}

	sha := strings.Repeat("1234567890", 4)
	temp := t.TempDir()
	j := &job{t: t, dir: c.dir, temp: temp, event: filepath.Join(temp, "event.json"), artifacts: artifacts.Store(t.TempDir()), values: map[string]string{
		"matrix.environment": "local", "secrets.AGE_KEY": string(bytes.TrimSpace(identity)), "github.token": "token-of-actions",
		"join(fromJSON(vars.ENVIRONMENTS), ',')": "local", "runner.temp": temp, "inputs.allow_destroy": "", "matrix.digest": "sha256:" + strings.Repeat("0", 64), "matrix.playbook": "true", "matrix.checks": "https,flow",
		`inputs.environment && format('["{0}"]', inputs.environment) || vars.ENVIRONMENTS`: `["local"]`,
		"github.event.pull_request.head.sha":                                               sha, "github.event.pull_request.base.sha": sha,
	}}
	j.env = []string{
		"RUNNER_TEMP=" + temp, "GITHUB_OUTPUT=" + filepath.Join(temp, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(temp, "summary"), "GITHUB_REPOSITORY=acme/infra", "GITHUB_RUN_ID=17", "GITHUB_SHA=" + sha,
		"GITHUB_API_URL=http://cloudsim:9000/-/github", "GITHUB_SERVER_URL=http://cloudsim:9000/-/github/web", "GITHUB_TOKEN=canary-in-the-environment",
	}
	payload, err := json.Marshal(map[string]any{"number": 1, "pull_request": map[string]any{
		"number": 1, "head": map[string]any{"sha": sha, "repo": map[string]string{"full_name": "acme/infra"}},
		"base": map[string]any{"sha": sha, "repo": map[string]string{"full_name": "acme/infra"}},
	}})
	if err != nil {
		t.Fatal(err)
	}

	j.on("pull_request", string(payload))
	j.run("checks.yml", "checks").must(t).says(t, "environments/local: valid")
	j.run("apply.yml", "apply").refuses(t, "there is no plan of local in bucket slipway-local at cloudsim:9000 for exactly these files", "hint: dagger call plan --env=local --keep")
	for range 2 { // the second time it is the same comment
		j.run("plan.yml", "plan").must(t)
		j.run("plan.yml", "report").must(t).says(t, "`local`: Plan: 22 to create.")
	}
	summary, err := os.ReadFile(filepath.Join(temp, "summary"))
	if err != nil {
		t.Fatal(err)
	}
	says(string(summary), "22 to create", "module.backend.openstack_compute_keypair_v2.admin")
	text := shown()
	says(text, "github-actions[bot]", "slipway:plans", "22 to create", "sha256:")
	if n := strings.Count(text, "slipway:plans"); n != 1 {
		t.Errorf("there are %d comments", n)
	}

	j.on("push", `{}`)
	// The pull request's plan was not stored, and a digest that no plan has is refused.
	j.run("apply.yml", "apply").refuses(t, "there is no plan of local in bucket slipway-local")
	first := j.apply().must(t).says(t, "the plan of run", "database_uris = (sensitive)", "local-backend  changed ",
		"https: passed: https://local.example.org/ answers with 200", "flow: passed: 100 of 100 positions are in the database, each once")
	if strings.Contains(first.stdout, "reboot: ") {
		t.Errorf("it cuts the power of a host:\n%s", first.stdout)
	}
	j.run("apply.yml", "apply").refuses(t, "was already started by run")

	j.on("schedule", `{}`)
	j.run("drift.yml", "drift").must(t).says(t, "local: matches its code", "no issue is open, and none is needed")
	c.deleteRule(t)
	j.run("drift.yml", "drift").must(t).says(t, "1 changed in the cloud", `module.backend.openstack_networking_secgroup_rule_v2.in["https/0.0.0.0/0"] was deleted in the cloud`, "the issue is created")
	says(shown(), "Environment local does not match its code: 1 changed in the cloud", "slipway:drift/local")
	j.run("drift.yml", "drift").must(t).says(t, "the issue is updated")

	// Without a playbook and checks, their steps are skipped.
	settings := filepath.Join(c.dir, "environments/local/environment.yaml")
	file, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(file), "deploy: ")
	if !found {
		t.Fatal("environment local has no playbook")
	}
	c.file(t, settings, before)
	j.on("push", `{}`)
	if again := j.apply().must(t).says(t, "1 to create"); strings.Contains(again.stdout, "HOST ") || strings.Contains(again.stdout, "https: ") {
		t.Errorf("it deploys or checks:\n%s", again.stdout)
	}
	j.on("schedule", `{}`)
	j.run("drift.yml", "drift").must(t).says(t, "local: matches its code", "the issue is closed")
	text = shown()
	says(text, "matches its code again")
	for _, secret := range []string{"canary", "-of-the-tests", strings.TrimSpace(string(identity))} {
		if strings.Contains(text, secret) {
			t.Errorf("GitHub shows %q:\n%s", secret, text)
		}
	}
}
