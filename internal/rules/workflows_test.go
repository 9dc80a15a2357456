// Package rules holds the repository's own files to rules: workflows that keep
// secrets from strangers and an apply from being killed, functions that really run
// when they are called, environments that are the same system.
package rules

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"slipway/internal/must"
	"slipway/internal/testkit/artifacts"
)

const folder = "../../.github/workflows"

type workflow struct {
	On          yaml.Node         `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]job    `yaml:"jobs"`
}

type job struct {
	Name        string            `yaml:"name"`
	Needs       string            `yaml:"needs"`
	If          string            `yaml:"if"`
	Permissions map[string]string `yaml:"permissions"`
	Timeout     int               `yaml:"timeout-minutes"`
	Environment string            `yaml:"environment"`
	Concurrency struct {
		Group  string `yaml:"group"`
		Cancel bool   `yaml:"cancel-in-progress"`
	} `yaml:"concurrency"`
	Env   map[string]string `yaml:"env"`
	Steps []step            `yaml:"steps"`
}

type step struct {
	If    string            `yaml:"if"`
	Shell string            `yaml:"shell"`
	Uses  string            `yaml:"uses"`
	Run   string            `yaml:"run"`
	With  map[string]string `yaml:"with"`
	Env   map[string]string `yaml:"env"`
}

// may is the most that a job may be allowed to do, by workflow and job.
var may = map[string]map[string]string{
	"checks.yml/checks": {"contents": "read"},
	"plan.yml/plan":     {"contents": "read"},
	"plan.yml/report":   {"contents": "read", "pull-requests": "write"},
	"apply.yml/plan":    {"contents": "read"},
	"apply.yml/review":  {},
	"apply.yml/apply":   {"contents": "read"},
	"drift.yml/drift":   {"contents": "read", "issues": "write"},
	"test.yml/test":     {"contents": "read"},
	"nightly.yml/tests": {"contents": "read"},
	"nightly.yml/issue": {"actions": "read", "contents": "read", "issues": "write"},
}

var (
	pinned = regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40}$`)
	// stage matches the stages that the runner's own deadline ends.
	stage = regexp.MustCompile(`\b(plan-files|apply|drift|deploy|verify)\b`)
	// glue are the commands besides `dagger call`.
	glue = regexp.MustCompile(`^(sudo --preserve-env env "PATH=\$PATH" make test(-all)?$|go run \./dev/nightly "\$RESULT" "\$RUNNER_TEMP/tests/report\.txt"$|cat "\$RUNNER_TEMP/plan/\$ENVIRONMENT/summary.md" >>"\$GITHUB_STEP_SUMMARY"|mkdir -p "\$RUNNER_TEMP/plans"$|jq --null-input --raw-output '\$ENV\.ENVIRONMENTS \| fromjson\[\]')`)
)

// check lists what is wrong with a workflow.
func check(name string, text []byte, deadline time.Duration) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, name+": "+fmt.Sprintf(format, args...)) }
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		fault("%v", err)
		return faults
	}
	if w.Permissions == nil || len(w.Permissions) > 0 {
		fault("permissions is not {} at the top")
	}
	if bytes.Contains(text, []byte("pull_request_target")) || bytes.Contains(text, []byte("workflow_run")) {
		fault("a foreign pull request would run with our secrets")
	}
	for _, line := range strings.Split(string(text), "\n") {
		if _, uses, ok := strings.Cut(line, "uses: "); ok && !strings.HasPrefix(uses, "./") && !strings.Contains(uses, " # v") {
			fault("%s does not say which version that is", uses)
		}
	}
	for id, j := range w.Jobs {
		allowed, known := may[name+"/"+id]
		if !known {
			fault("job %s has no entry in the list of what jobs may do", id)
		}
		if j.Permissions == nil {
			fault("job %s has no permissions", id)
		}
		for scope, level := range j.Permissions {
			if allowed[scope] != level {
				fault("job %s may %s %s", id, level, scope)
			}
		}
		if j.Timeout == 0 {
			fault("job %s has no timeout", id)
		}
		secret := strings.Contains(fmt.Sprint(j.Env), "secrets.")
		if secret {
			fault("job %s gives a secret to all of its steps", id)
		}
		works, applied := 0, false
		for _, s := range j.Steps {
			switch {
			case s.Uses != "":
				if !strings.HasPrefix(s.Uses, "./") && !pinned.MatchString(s.Uses) {
					fault("%s is not pinned", s.Uses)
				}
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
					fault("job %s leaves its token in the checkout", id)
				}
			case strings.Contains(s.Run, "${{"):
				fault("job %s puts an expression into a script", id)
			case !strings.HasPrefix(s.Run, "dagger call ") && !glue.MatchString(s.Run):
				fault("job %s runs something else than dagger: %s", id, s.Run)
			}
			secret = secret || strings.Contains(fmt.Sprint(s.Env), "secrets.")
			if strings.Contains(s.Run, " | ") && s.Shell != "bash" {
				fault("job %s does not see a failure within a pipe", id)
			}
			if strings.Contains(s.Run, "--keep") && (bytes.Contains(text, []byte("pull_request:")) || bytes.Contains(text, []byte("merge_group:"))) {
				fault("job %s keeps the plan of files that nobody has merged", id)
			}
			if stage.MatchString(s.Run) {
				works++
			}
			if strings.Contains(s.Run, " deploy ") && (!applied || s.If != "matrix.playbook") {
				fault("job %s deploys what it has not applied, or where there is no playbook", id)
			}
			if strings.Contains(s.Run, " verify ") && (!applied || s.If != "matrix.checks" || !strings.Contains(s.Run, `--only="$CHECKS"`) || s.Env["CHECKS"] != "${{ matrix.checks }}") {
				fault("job %s checks what it has not applied, or cuts the power", id)
			}
			applied = applied || strings.Contains(s.Run, " apply ")
			if strings.Contains(s.Run, " apply ") {
				if j.Concurrency.Cancel || !strings.Contains(j.Concurrency.Group, "matrix.environment") {
					fault("job %s does not wait its turn, or can be cancelled", id)
				}
				if j.Environment != "${{ matrix.environment }}" {
					fault("job %s runs outside of the environment that reviewers protect", id)
				}
				if !strings.Contains(s.Run, `--digest="$DIGEST"`) || j.Env["DIGEST"] != "${{ matrix.digest }}" || j.Needs != "review" || !strings.Contains(j.Name, "${{ matrix.digest }}") {
					fault("job %s applies what nobody has seen", id)
				}
				if id := "plan"; w.Jobs["review"].Needs != id || !strings.HasPrefix(w.Jobs[id].Environment, "plan-") {
					fault("nothing plans what job review shows")
				}
			}
		}
		if works > 0 && time.Duration(j.Timeout)*time.Minute < time.Duration(works)*deadline+10*time.Minute {
			fault("job %s ends after %d minutes, and the runner stops each of its %d stages gently only after %s", id, j.Timeout, works, deadline)
		}
		if secret && j.Environment == "" {
			fault("job %s has secrets outside of an environment", id)
		}
		if secret && bytes.Contains(text, []byte("merge_group:")) && !strings.Contains(j.If, "&& github.event_name == 'pull_request' &&") {
			fault("job %s has secrets for the queue of merges", id)
		}
		if secret && bytes.Contains(text, []byte("pull_request:")) && !strings.Contains(j.If, "head.repo.full_name == github.repository") {
			fault("job %s has secrets for forks", id)
		}
	}
	return faults
}

// deadline is the stage runner's own.
func deadline(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("../../internal/run/command.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"deadline", (\d+)\*time\.Minute`).FindSubmatch(text)
	if found == nil {
		t.Fatal("cmd/slipway has no deadline")
	}
	minutes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(minutes) * time.Minute
}

func read(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*")
	if err != nil || len(paths) != 6 {
		t.Fatal(paths, err)
	}
	texts := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = text
	}
	return texts
}

func TestWorkflows(t *testing.T) {
	for name, text := range read(t) {
		for _, fault := range check(name, text, deadline(t)) {
			t.Error(fault)
		}
	}
}

// A change that breaks a rule is found.
func TestRules(t *testing.T) {
	texts := read(t)
	for _, c := range []struct{ name, old, new, want string }{
		{"plan.yml", "permissions: {}", "permissions: write-all", "cannot unmarshal"},
		{"plan.yml", "permissions: {}", "permissions: {contents: read}", "permissions is not {}"},
		{"plan.yml", "  pull_request:", "  pull_request_target:", "a foreign pull request"},
		{"plan.yml", "@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "@v5", "is not pinned"},
		{"plan.yml", "      - uses: ./.github/actions/dagger", "      - uses: actions/x@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "does not say which version"},
		{"plan.yml", "persist-credentials: false", "fetch-depth: 1", "leaves its token"},
		{"plan.yml", `--env="$ENVIRONMENT"`, "--env=${{ matrix.environment }}", "an expression into a script"},
		{"plan.yml", "pull-requests: write", "issues: write", "may write issues"},
		{"plan.yml", "github.event.pull_request.head.repo.full_name == github.repository", "true", "secrets for forks"},
		{"plan.yml", "    environment: plan-${{ matrix.environment }} # has the key that can only read\n", "", "secrets outside of an environment"},
		{"plan.yml", "timeout-minutes: 75", "timeout-minutes: 60", "1 stages gently only after"},
		{"apply.yml", "timeout-minutes: 180", "timeout-minutes: 75", "3 stages gently only after"},
		{"plan.yml", "    timeout-minutes: 15\n", "", "has no timeout"},
		{"apply.yml", "cancel-in-progress: false", "cancel-in-progress: true", "can be cancelled"},
		{"apply.yml", "group: state-${{ matrix.environment }}", "group: state", "does not wait its turn"},
		{"apply.yml", "    environment: ${{ matrix.environment }} #", "    environment: any #", "reviewers protect"},
		{"apply.yml", `--digest="$DIGEST" `, "", "nobody has seen"},
		{"apply.yml", "DIGEST: ${{ matrix.digest }}", "DIGEST: ${{ github.sha }}", "nobody has seen"},
		{"apply.yml", "    name: apply ${{ matrix.environment }} ${{ matrix.digest }}\n", "", "nobody has seen"},
		{"apply.yml", "    needs: plan\n", "", "nothing plans what"},
		{"apply.yml", "    environment: plan-${{ matrix.environment }} #", "    environment: ${{ matrix.environment }} #", "nothing plans what"},
		{"apply.yml", "  workflow_dispatch:\n", "  pull_request:\n  workflow_dispatch:\n", "secrets for forks"},
		{"apply.yml", " apply --env", " plan --env", "deploys what it has not applied"},
		{"apply.yml", "if: matrix.playbook", "if: always()", "where there is no playbook"},
		{"apply.yml", "if: matrix.checks", "if: always()", "cuts the power"},
		{"apply.yml", ` --only="$CHECKS"`, "", "cuts the power"},
		{"apply.yml", "CHECKS: ${{ matrix.checks }}", "CHECKS: reboot", "cuts the power"},
		{"apply.yml", "        shell: bash # with pipefail\n", "", "does not see a failure within a pipe"},
		{"plan.yml", "github.event_name == 'pull_request' && ", "", "secrets for the queue of merges"},
		{"plan.yml", `--env="$ENVIRONMENT" --commit`, `--env="$ENVIRONMENT" --keep --commit`, "that nobody has merged"},
		{"drift.yml", "      ENVIRONMENT: ", "      AGE_KEY: ${{ secrets.AGE_KEY }}\n      ENVIRONMENT: ", "to all of its steps"},
		{"checks.yml", "dagger call fmt", "make fmt", "something else than dagger"},
	} {
		broken := strings.Replace(string(texts[c.name]), c.old, c.new, 1)
		if broken == string(texts[c.name]) {
			t.Errorf("%s does not hold %q", c.name, c.old)
			continue
		}
		faults := check(c.name, []byte(broken), deadline(t))
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.want) }) {
			t.Errorf("%s with %q: nobody says %q: %q", c.name, c.new, c.want, faults)
		}
	}
}

// Everything about the credentials that can be checked without a key is checked first on each pull
// request, even from forks and without secrets.
func TestChecksOfEachPullRequest(t *testing.T) {
	var w workflow
	text := read(t)["checks.yml"]
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, s := range w.Jobs["checks"].Steps {
		if s.Run != "" {
			commands = append(commands, s.Run)
		}
	}
	for _, want := range []string{"environments", "secrets check", "fmt", "validate", "lint", "test"} {
		if !slices.Contains(commands, "dagger call "+want) {
			t.Errorf("%s is not run: %q", want, commands)
		}
	}
	if bytes.Contains(text, []byte("secrets.")) || !bytes.Contains(text, []byte("  pull_request:\n")) || w.Jobs["checks"].If != "" {
		t.Error("the checks need a secret, or are not run for each pull request")
	}
}

// actionlint knows the language of the workflows. It has a module of its own: it needs another version of
// a library than Slipway.
func TestActionlint(t *testing.T) {
	modfile, err := filepath.Abs("../../dev/tools/actionlint.mod")
	must.Do(t, err)
	lint := func(stdin string, files ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=" + modfile, "actionlint"}, files...)...)
		command.Stdin = strings.NewReader(stdin)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	workflows, err := filepath.Glob(folder + "/*.yml")
	must.Do(t, err)
	if out, err := lint("", workflows...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := lint("on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ matrix.nothing }}\n", "-")
	if err == nil || !strings.Contains(out, `property "nothing" is not defined`) {
		t.Errorf("it finds nothing wrong with a broken workflow: %v\n%s", err, out)
	}
}

// The action installs the CLI that dev/engine takes beside Docker, with the engine of the same
// version; the engine's digest, where it stands, is a whole one.
func TestEngineOfTheAction(t *testing.T) {
	action, err := os.ReadFile("../../.github/actions/dagger/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../dev/engine/other.go")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`const publishedVersion = "v([^"]+)"`).FindSubmatch(source)
	if version == nil {
		t.Fatal("dev/engine names no version for Docker")
	}
	for _, want := range []string{
		`\n        VERSION: "` + regexp.QuoteMeta(string(version[1])) + `"\n`,
		`\n        ENGINE: registry\.dagger\.io/engine:v` + regexp.QuoteMeta(string(version[1])) + `(@sha256:[0-9a-f]{64})?\n`,
	} {
		if !regexp.MustCompile(want).Match(action) {
			t.Errorf("the action has no line %s", want)
		}
	}
}

// A committed .env would fill in the arguments of every call: the action stops before the first. One that is not
// committed is its user's own.
func TestCommittedSettings(t *testing.T) {
	text, err := os.ReadFile("../../.github/actions/dagger/action.yml")
	must.Do(t, err)
	var action struct {
		Runs struct {
			Steps []struct{ Run string }
		}
	}
	must.Do(t, yaml.Unmarshal(text, &action))
	for name, commit := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			must.Do(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("PINS=x\n"), 0o600))
			must.Do(t, os.WriteFile(filepath.Join(temp, "event.json"), nil, 0o600))
			commands := "git init --quiet ."
			if commit {
				commands += " && git add --force .env"
			}
			cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands+"\n"+action.Runs.Steps[1].Run)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + temp, "GITHUB_RUN_ID=1", "GITHUB_EVENT_PATH=" + filepath.Join(temp, "event.json")}
			said, err := cmd.CombinedOutput()
			if (err != nil) != commit || commit && !strings.Contains(string(said), "git rm --cached .env") {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

// The script that hands the digests on keeps the order of the environments, and fails
// for a plan that failed or is not there.
func TestDigests(t *testing.T) {
	var w workflow
	if err := yaml.Unmarshal(read(t)["apply.yml"], &w); err != nil {
		t.Fatal(err)
	}
	script := ""
	var download, upload map[string]string
	for _, s := range w.Jobs["review"].Steps {
		script += s.Run
		if strings.HasPrefix(s.Uses, "actions/download-artifact@") {
			download = s.With
		}
	}
	for _, s := range w.Jobs["plan"].Steps {
		if strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
			upload = s.With
		}
	}
	for name, c := range map[string]struct {
		environments string
		summaries    map[string]string
		want         string // empty: it fails
	}{
		"two": {`["test", "prod"]`, map[string]string{"prod": `{"name": "prod", "digest": "sha256:2", "checks": ["https"]}`, "test": `{"name": "test", "digest": "sha256:1", "layers": [], "playbook": true, "checks": ["https", "flow"]}`},
			`plans=[{"environment":"test","digest":"sha256:1","playbook":true,"checks":"https,flow"},{"environment":"prod","digest":"sha256:2","playbook":false,"checks":"https"}]` + "\n"},
		"the only one":     {`["prod"]`, map[string]string{"prod": `{"name": "prod", "digest": "sha256:2"}`}, `plans=[{"environment":"prod","digest":"sha256:2","playbook":false,"checks":""}]` + "\n"},
		"one of two":       {`["prod"]`, map[string]string{"prod": `{"name": "prod", "digest": "sha256:2"}`, "test": `{}`}, `plans=[{"environment":"prod","digest":"sha256:2","playbook":false,"checks":""}]` + "\n"},
		"one that failed":  {`["test", "prod"]`, map[string]string{"test": `{"name": "test", "error": "x"}`, "prod": `{"name": "prod", "digest": "sha256:2"}`}, ""},
		"the last failed":  {`["test", "prod"]`, map[string]string{"test": `{"name": "test", "digest": "sha256:1"}`, "prod": `{"name": "prod", "error": "x"}`}, ""},
		"one is not there": {`["test", "prod"]`, map[string]string{"prod": `{"name": "prod", "digest": "sha256:2"}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			fill := func(text, environment string) string {
				return strings.NewReplacer("${{ runner.temp }}", temp, "${{ matrix.environment }}", environment).Replace(text)
			}
			store := artifacts.Store(t.TempDir())
			for environment, text := range c.summaries {
				folder := filepath.Join(temp, "plan", environment)
				must.Do(t, os.MkdirAll(folder, 0o755))
				must.Do(t, os.WriteFile(filepath.Join(folder, "summary.json"), []byte(text), 0o600))
				must.Do(t, store.Upload(fill(upload["name"], environment), fill(upload["path"], environment)))
				must.Do(t, os.RemoveAll(filepath.Join(temp, "plan"))) // the next one has a machine of its own
			}
			with := map[string]string{}
			for name, value := range download {
				with[name] = fill(value, "")
			}
			must.Do(t, store.Download(with))
			output := filepath.Join(temp, "output")
			cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + temp, "GITHUB_OUTPUT=" + output, "ENVIRONMENTS=" + c.environments}
			said, err := cmd.CombinedOutput()
			if c.want == "" {
				if err == nil {
					t.Error("it does not fail")
				}
				return
			}
			got, readErr := os.ReadFile(output)
			if err != nil || readErr != nil || string(got) != c.want {
				t.Errorf("%v: %s\ngot  %swant %s", err, said, got, c.want)
			}
		})
	}
}
