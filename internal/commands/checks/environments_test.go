package checks

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/must"
	"slipway/internal/run"
)

// A hostile name reaches neither the terminal nor the log nor the result as more than text.
func TestHostileNames(t *testing.T) {
	repository, out := t.TempDir(), t.TempDir()
	name := "x\x1b]0;title\x07\n::error::y ##[error]z $(id)"
	if err := os.MkdirAll(filepath.Join(repository, "environments", name), 0o755); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run.Main(t.Context(), Environments(), run.Options{Repository: repository, Out: out, Stdout: &stdout, Stderr: &stderr}); code != run.BadInput {
		t.Errorf("exit code %d", code)
	}
	data, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var result run.Result
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	for place, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String(), "result": result.Error + "\n" + result.Hint} {
		if !strings.Contains(text, "y ## [error]z") {
			t.Errorf("%s does not name it: %s", place, text)
		}
		if strings.ContainsAny(text, "\x1b\x07") || strings.Contains(text, "\n::") || strings.Contains(text, "##[") {
			t.Errorf("%s has more than text: %q", place, text)
		}
	}
	if !strings.Contains(stderr.String(), `hint: rename the folder, lower-case letters, digits and dashes, at most 32: git mv -- $'environments/x\x1b]0;title\x07\x0a::error::y ## [error]z $(id)' `) {
		t.Errorf("the hint is no command: %s", stderr.String())
	}
}

// The table has a row for every environment. The run fails if one of them has errors.
func TestEnvironmentsTable(t *testing.T) {
	repository := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(repository, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	const s3 = "state:\n  s3: {bucket: state-of-tests, region: us-east-1, endpoint: \"https://s3.example.org\"}\n"
	write("credentials/common.enc.env", "")
	write("environments/prod/environment.yaml", "description: The real one\nprotected: true\ncredentials: [common, prod]\nlayers: [{path: net}, {path: app}]\n"+s3)
	write("environments/prod/net/main.tf", "")
	write("environments/prod/app/main.tf", "")
	write("environments/test/environment.yaml", "description: A trial\ncredentials: [common]\n"+s3)
	write("environments/test/main.tf", "")
	write("environments/nodes/environment.yaml", "description: Talos\ncredentials: [common]\nlayers: []\n"+s3)
	write("environments/nodes/cluster.yaml", "name: nodes\nendpoint: https://10.0.0.1:6443\ntalos: v1.14.1\nkubernetes: v1.35.0\nnodes: [{name: a, address: 10.0.0.1, role: controlplane, disk: /dev/sda}]\n")
	listed := func() (table, said string, code int) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code = run.Main(t.Context(), Environments(), run.Options{Repository: repository, Out: t.TempDir(), Stdout: &stdout, Stderr: &stderr})
		return stdout.String(), stderr.String(), code
	}
	const rows = "nodes  no         there        cluster.yaml  Talos\n" +
		"prod   yes        missing      net, app      The real one\n" +
		"test   no         there        test          A trial\n"
	table, said, code := listed()
	if want := "NAME   PROTECTED  CREDENTIALS  LAYERS        DESCRIPTION\n" + rows; table != want || code != run.Done {
		t.Errorf("exit code %d: %s\n%s\nnot\n%s", code, said, table, want)
	}
	write("environments/u/environment.yaml", "x")
	if _, said, code = listed(); code != run.BadInput || !strings.Contains(said, "environments/u/environment.yaml") || strings.Contains(said, "more with errors") {
		t.Errorf("exit code %d: %s", code, said)
	}
	write("environments/v/environment.yaml", "x")
	if _, said, code = listed(); code != run.BadInput || !strings.Contains(said, "environments/u/environment.yaml") || !strings.Contains(said, "(and 1 more with errors)") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// The list names every environment that has a file, also one whose file is wrong, and says whose
// drift check needs Ansible.
func TestEnvironmentNames(t *testing.T) {
	repository, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"test": "credentials: []\n", "broken": "x", "shared": "",
		"hosts":  "state: {s3: {bucket: abc, region: r}}\ndeploy: {playbook: site.yml, drift: true}\n",
		"deploy": "state: {s3: {bucket: abc, region: r}}\ndeploy: {playbook: site.yml}\n",
	} {
		folder := filepath.Join(repository, "environments", name)
		must.Do(t, os.MkdirAll(folder, 0o755))
		if text != "" {
			must.Do(t, os.WriteFile(filepath.Join(folder, "environment.yaml"), []byte(text), 0o600))
		}
	}
	for _, name := range []string{"environments/hosts/main.tf", "environments/deploy/main.tf", "ansible/playbooks/site.yml"} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(repository, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(repository, name), nil, 0o600))
	}
	if code := run.Main(t.Context(), Environments(), run.Options{Repository: repository, Out: out, Stdout: io.Discard, Stderr: io.Discard}); code != run.BadInput {
		t.Errorf("exit code %d", code)
	}
	data, err := os.ReadFile(filepath.Join(out, "environments.json"))
	if err != nil || string(data) != `[{"name":"broken","ansible":false},{"name":"deploy","ansible":false},{"name":"hosts","ansible":true},{"name":"test","ansible":false}]` {
		t.Errorf("%s, %v", data, err)
	}
}
