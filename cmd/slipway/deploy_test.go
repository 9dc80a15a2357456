//go:build blackbox

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway/internal/journal"
	"slipway/internal/run"
	"slipway/internal/testkit/openssh"
	"slipway/internal/testkit/soon"
)

// results are the hosts' results, such as "a=changed b=unreachable".
func (e ended) results() string {
	var all []string
	for _, h := range e.result.Hosts {
		all = append(all, h.Name+"="+h.Status)
	}
	return strings.Join(all, " ")
}

// ends fails the test unless the stage ended with that code, status and results.
func (e ended) ends(t *testing.T, code int, status, results string) ended {
	t.Helper()
	e.must(t, code)
	if e.result.Status != status || e.results() != results {
		t.Errorf("it ended with %s and %s, want %s and %s\n%s", e.result.Status, e.results(), status, results, e.stdout)
	}
	return e
}

// A deploy changes each host once. A dry run changes nothing, and shows a change and nothing else.
func TestBlackBoxDeploy(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	s.run("plan").must(t, 0).says(t, "test: no deploy of the playbook is on record.")
	s.deploy().ends(t, 0, "done", "a=changed b=changed c=changed").says(t, "play Write …", "  Write a file", "HOST  RESULT   OK  CHANGED  FAILED  UNREACHABLE")
	for name, h := range s.hosts {
		if got := h.read(t, "file"); got != "in test" {
			t.Errorf("%s has %q", name, got)
		}
	}
	s.deploy().ends(t, 0, "done", "a=ok b=ok c=ok")
	s.deploy("--check").ends(t, 0, "done", "a=ok b=ok c=ok")
	planned := s.run("plan", keep).must(t, 0).says(t, "test: the playbook has not changed since run run05 deployed it on 20")

	// What is approved is the playbook, too: its change is shown, and is another plan.
	s.write("ansible/file.j2", "still in {{ slipway_environment }}\n")
	s.run("apply", seen(planned)).must(t, 3).says(t, "there is no plan of test")
	changed := func() {
		t.Helper()
		e := s.run("plan").must(t, 0).says(t, "test: the playbook has changed in 1 file since run run05 deployed it on 20", "  ~   ansible/file.j2\n")
		if text := readFile(t, filepath.Join(e.out, "summary.md")); !strings.Contains(text, "### Files of the playbook\n\n```diff\n~   ansible/file.j2\n```\n") {
			t.Errorf("the summary is\n%s", text)
		}
	}
	e := s.deploy("--check", "--limit=b").ends(t, 2, "changes", "a=skipped b=changed c=skipped")
	e.says(t, "b: Write a file\n", "-in test\n", "+still in test\n")
	if n := strings.Count(e.stdout, ": Write a file\n"); n != 1 {
		t.Errorf("%d changes are shown\n%s", n, e.stdout)
	}
	if got := s.hosts["b"].read(t, "file"); got != "in test" {
		t.Errorf("a dry run wrote %q", got)
	}
	s.deploy("--limit=b,c").ends(t, 0, "done", "a=skipped b=changed c=changed")
	s.deploy("--tags=none").ends(t, 0, "done", "a=skipped b=skipped c=skipped")
	changed() // neither one host nor some of the tasks are all
	if e := s.deploy("--log=plays").must(t, 0); strings.Contains(e.stdout, "Write a file") || !strings.Contains(e.stdout, "play Write") {
		t.Errorf("a line per play is\n%s", e.stdout)
	}
	s.settings("deploy: {playbook: site.yml, forks: 1, serial: \"1\"}")
	if e := s.deploy().must(t, 0); strings.Count(e.stdout, "play Write …") != 3 {
		t.Errorf("one host after the other is\n%s", e.stdout)
	}
	s.run("plan").must(t, 0).says(t, "test: the playbook has not changed since run ")
}

// A playbook gets the values of outputs as they are.
func TestBlackBoxDeployValues(t *testing.T) {
	s := newSite(t, "a")
	const values = `{"million": 1000000, "size": 10485760, "long": 12345678901234567, "huge": 1e30, "part": 1.5, "equals": "=", "zeros": "0123", "yes": "yes", "time": "12:30:00", "exponent": "1e6", "null": null, "list": [1000000, "x"]}`
	s.outputs(s.inventory(), fmt.Sprintf("output \"ansible_vars\" {\n  value = { values = jsondecode(%q) }\n}\n", values))
	s.playbook(`
- name: Write
  hosts: all
  gather_facts: false
  tasks:
    - name: Write the values
      ansible.builtin.copy: {content: "{{ values | to_json }}", dest: "{{ folder }}/values", mode: "0600"}
`)
	s.deploy().must(t, 0)
	decode := func(text string) (value map[string]any) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return value
	}
	want := decode(values)
	want["huge"] = json.Number("1000000000000000000000000000000")
	if got := decode(s.hosts["a"].read(t, "values")); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What the playbook would change is drift, by host and task. The differences are not shown: others read the
// check's report.
func TestBlackBoxDeployDrift(t *testing.T) {
	s := newSite(t, "a", "b")
	s.settings("deploy: {playbook: site.yml, drift: true}")
	s.inTrixie("drift").must(t, 2).says(t, "test: does not match its code: 2 that the playbook would change", `! a: the playbook would change it in "Write a file"`, `! b: the playbook would change it in "Write a file"`)
	s.deploy().must(t, 0)
	s.inTrixie("drift").must(t, 0).says(t, "test: matches its code")
	if err := os.WriteFile(filepath.Join(s.hosts["b"].folder, "file"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := s.inTrixie("drift").must(t, 2).says(t, `! b: the playbook would change it in "Write a file"`)
	if left := e.left(t); strings.Contains(left, "by hand") || strings.Contains(left, "! a:") {
		t.Errorf("it shows more:\n%s", left)
	}
	if got := s.hosts["b"].read(t, "file"); got != "by hand" {
		t.Errorf("the check wrote %q", got)
	}
	s.hosts["a"].Off()
	s.inTrixie("drift").must(t, 1).says(t, "test: could not be checked for drift to the end: 1 that the playbook would change", "a is unreachable",
		`! b: the playbook would change it in "Write a file"`)
}

// What goes wrong on one host leaves the results of the others.
func TestBlackBoxDeployFails(t *testing.T) {
	const fails = `
- name: Write
  hosts: all
  gather_facts: false
  tasks:
    - name: Write a file
      ansible.builtin.copy: {content: "x\n", dest: "{{ folder }}/file", mode: "0600"}
    - name: Stop
      ansible.builtin.command: {cmd: "sh -c 'echo no room >&2; exit 3'"}
      changed_when: false
      when: inventory_hostname == "b"
    - name: Go on
      ansible.builtin.copy: {content: "y\n", dest: "{{ folder }}/later", mode: "0600"}
`
	t.Run("a task", func(t *testing.T) {
		s := newSite(t, "a", "b", "c")
		s.playbook(fails)
		e := s.deploy().ends(t, 1, "failed", "a=changed b=failed c=changed")
		e.says(t, "1 of 3 hosts did not get to the end: b is stopped in the task \"Stop\" (ansible/playbooks/site.yml:8)", "no room", "hint: dagger call deploy --env=test --limit=b")
		if s.hosts["a"].read(t, "later") != "y" || s.hosts["b"].read(t, "later") != "" {
			t.Error("the wrong hosts went on")
		}
		// Nothing is left to be recovered.
		s.deploy("--limit=a,c").ends(t, 0, "done", "a=ok b=skipped c=ok")
	})
	t.Run("a host", func(t *testing.T) {
		s := newSite(t, "a", "b", "c")
		s.hosts["b"].Off()
		s.deploy().ends(t, 1, "unreachable", "a=changed b=unreachable c=changed").
			says(t, "1 of 3 hosts did not get to the end: b is unreachable", "Connection refused", "hint: dagger call ssh --env=test --host=b")
	})
	t.Run("a group without hosts", func(t *testing.T) {
		s := newSite(t, "a")
		s.playbook("- name: Write\n  hosts: backend\n  gather_facts: false\n  tasks: []\n")
		if e := s.deploy(); e.code == 0 || !strings.Contains(e.stdout+e.stderr, "Could not match supplied host pattern, ignoring: backend") {
			t.Errorf("code %d\n%s%s", e.code, e.stdout, e.stderr)
		}
	})
	t.Run("another host key", func(t *testing.T) {
		s := newSite(t, "a", "b")
		inventory := s.inventory()
		inventory["b"].(map[string]any)["known_hosts"] = s.hosts["b"].KnownHosts(s.hosts["a"].Public)
		s.outputs(inventory, "")
		s.deploy().ends(t, 1, "unreachable", "a=changed b=unreachable").says(t, "the host key does not match: it is not the host that was created, or the connection is intercepted")
		// The playbook cannot switch that off.
		s.write("ansible/playbooks/group_vars/all.yml", "ansible_ssh_args: -F /dev/null -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null\nansible_ssh_common_args: -o StrictHostKeyChecking=no\nansible_host_key_checking: false\n")
		s.deploy().ends(t, 1, "unreachable", "a=ok b=unreachable")
		if got := s.hosts["b"].read(t, "file"); got != "" {
			t.Errorf("it wrote %q", got)
		}
	})
	t.Run("another SSH key", func(t *testing.T) {
		s := newSite(t, "a")
		s.secret["SSH_PRIVATE_KEY"], _ = openssh.NewKey(t)
		s.seal()
		s.deploy().ends(t, 1, "unreachable", "a=unreachable").says(t, "the host does not accept the SSH key in the credentials")
	})
	t.Run("a full disk", func(t *testing.T) {
		s := newSite(t, "a", "full")
		s.deploy().ends(t, 1, "failed", "a=changed full=failed").says(t, "full is stopped in the task \"Write a file\"", "No space left on device")
	})
}

// A host behind a proxy or a bastion is deployed to, and the bastion cannot read along.
func TestBlackBoxDeployReach(t *testing.T) {
	s := newSite(t, "bastion", "inner")
	s.settings("ssh: {jump: bastion}\ndeploy: {playbook: site.yml}")
	s.deploy("--limit=inner").ends(t, 0, "done", "bastion=skipped inner=changed")
	s.hosts["bastion"].Off()
	if log := s.hosts["bastion"].Log(); !strings.Contains(log, "Accepted publickey for root") {
		t.Errorf("the bastion was not used:\n%s", log)
	}
	s.deploy("--limit=inner").ends(t, 1, "unreachable", "bastion=skipped inner=unreachable")

	s.settings("ssh: {jump: gate}\ndeploy: {playbook: site.yml}")
	s.deploy().ends(t, 3, "refused", "").says(t, `ssh.jump is "gate", and the hosts of test are bastion, inner`)

	connected := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := net.Dial("tcp", r.Host)
		if err != nil || r.Method != http.MethodConnect {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		connected++
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	t.Cleanup(proxy.Close)
	s.settings("ssh: {proxy: \"" + proxy.URL + "\"}\ndeploy: {playbook: site.yml}")
	s.deploy("--limit=inner").ends(t, 0, "done", "bastion=skipped inner=ok")
	if connected < 2 { // by the runner and by ssh
		t.Errorf("the proxy was used %d times", connected)
	}
}

// A playbook that cannot run is refused, and one that lacks a value says which.
func TestBlackBoxDeployMistakes(t *testing.T) {
	play := func(tasks string) string { return "\n- name: Try\n  hosts: all\n  gather_facts: false\n" + tasks }
	for name, c := range map[string]struct {
		playbook     string
		code         int
		status, says string
	}{
		"no YAML":        {"\n- name: Try\n  hosts: [\n", 3, "refused", "ansible cannot run the playbook site.yml: "},
		"no such module": {play("  tasks:\n    - name: Fly\n      acme.air.fly: {}\n"), 3, "refused", "acme.air.fly"},
		"undefined":      {play("  tasks:\n    - name: Ask\n      ansible.builtin.debug: {msg: \"{{ nowhere }}\"}\n"), 1, "failed", "'nowhere' is undefined"},
		"wrong type":     {play("  roles:\n    - {role: door, door_width: wide}\n"), 1, "failed", "door_width"},
		"not given":      {play("  roles:\n    - {role: door}\n"), 1, "failed", "missing required arguments: door_width"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "a")
			s.write("ansible/roles/door/meta/argument_specs.yml", "argument_specs:\n  main:\n    options:\n      door_width: {type: int, required: true}\n")
			s.write("ansible/roles/door/tasks/main.yml", "- name: Never\n  ansible.builtin.fail: {msg: opened}\n")
			s.write("ansible/ansible.cfg", "[defaults]\nroles_path = roles\n")
			s.playbook(c.playbook)
			e := s.deploy().must(t, c.code)
			if e.result.Status != c.status || !strings.Contains(e.result.Error, c.says) || strings.Contains(e.stdout, "opened") {
				t.Errorf("it ended with %s: %s", e.result.Status, e.result.Error)
			}
			if e.result.Hint == "" {
				t.Error("there is no hint")
			}
		})
	}
}

// What a deploy needs and lacks is refused before any tool of Ansible starts.
func TestBlackBoxDeployRefuses(t *testing.T) {
	s := newSite(t, "a")
	s.write("credentials/test.enc.env.example", "ANSIBLE_VAR_password=<random>\n")
	s.deploy().ends(t, 3, "refused", "").says(t, "the credentials of test have no ANSIBLE_VAR_password, which the playbook needs", "hint: dagger call secrets set --file=credentials/test.enc.env --variable=ANSIBLE_VAR_password --value=env://VALUE")
	s.write("credentials/test.enc.env.example", "")

	delete(s.secret, "SSH_PRIVATE_KEY")
	s.seal()
	s.deploy().ends(t, 3, "refused", "").says(t, "the credentials of test have no SSH_PRIVATE_KEY")
	s.secret["SSH_PRIVATE_KEY"] = s.private

	inventory := s.inventory()
	inventory["a"].(map[string]any)["port"] = "22"
	s.write("environments/test/main.tf", s.code(inventory, ""))
	s.run("apply").ends(t, 4, "unfinished", "").says(t, "the output ansible_inventory of test: a: port is a string, want a whole number", "hint: $EDITOR environments/test")
	s.deploy().ends(t, 3, "refused", "").says(t, "the output ansible_inventory of test: a: port is a string, want a whole number")

	s.outputs(map[string]any{}, "")
	s.deploy().ends(t, 3, "refused", "").says(t, "environment test has no hosts", "hint: dagger call apply --env=test")

	s.settings("")
	s.deploy().ends(t, 3, "refused", "").says(t, "environment test has no playbook")
}

// untilGo is a playbook that waits until the file go is on the host. A deploy that is killed leaves the
// loop behind there: it ends with the host's folder.
const untilGo = `
- name: Write
  hosts: all
  gather_facts: false
  tasks:
    - name: Begin
      ansible.builtin.copy: {content: "x\n", dest: "{{ folder }}/begun", mode: "0600"}
    - name: Wait
      ansible.builtin.command: {cmd: "sh -c 'while [ -d {{ folder }} ] && [ ! -e {{ folder }}/go ]; do sleep 0.1; done'"}
      changed_when: false
`

// waits returns when the journal of a deploy of untilGo says that it waits.
func (s *site) waits(id string) {
	s.t.Helper()
	soon.Wait(s.t, "the deploy waits for go", func() bool {
		runs, err := journal.Runs(s.t.Context(), s.bucket(), s.reader(), "test/deploy.hosts")
		return err == nil && slices.ContainsFunc(runs, func(r journal.Run) bool {
			return r.ID == id && slices.ContainsFunc(r.Entries, func(e journal.Entry) bool { return e.Kind == journal.Start && e.Address == "Write / Wait" })
		})
	})
}

// Of two deploys at once one is refused. After a kill the next one says what was not finished.
func TestBlackBoxDeployKilled(t *testing.T) {
	s := newSite(t, "a", "b")
	s.playbook(untilGo + `    - name: Finish
      ansible.builtin.copy: {content: "y\n", dest: "{{ folder }}/finished", mode: "0600"}
`)
	o := s.call("deploy", "--commit=abc123")
	cmd := s.startDeploy(o, io.Discard)
	s.waits(o.ID)
	s.deploy().ends(t, 3, "refused", "").says(t, "run "+o.ID+" (deploy, started ", "is alive")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s.deploy().ends(t, 3, "refused", "").says(t, "is alive")
	for _, h := range s.hosts {
		if err := os.WriteFile(filepath.Join(h.folder, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deploy := func(flags ...string) ended {
		o := s.call("deploy", flags...)
		dead(&o)
		return s.runInTrixie(o)
	}
	deploy("--limit=a").ends(t, 0, "done", "a=changed b=skipped").says(t, "run "+o.ID+" (deploy, started ", "of commit abc123 by age1", "was interrupted in the task Write / Wait")
	deploy().ends(t, 0, "done", "a=ok b=changed").says(t, "was interrupted in the task Write / Wait")
	if e := s.deploy().ends(t, 0, "done", "a=ok b=ok"); strings.Contains(e.stdout, "interrupted") {
		t.Errorf("it is still told:\n%s", e.stdout)
	}
}

// A deploy that is asked to stop says how far it got, and leaves that to the next one. While it works, nobody
// changes what is below the hosts; after an apply that was interrupted, nobody deploys.
func TestBlackBoxDeployInterrupted(t *testing.T) {
	s := newSite(t, "a")
	s.playbook(untilGo)
	o := s.call("deploy")
	var output bytes.Buffer
	cmd := s.startDeploy(o, &output)
	s.waits(o.ID)
	for _, stage := range []string{"apply", "destroy"} {
		s.run(stage, confirm).must(t, run.BadInput).says(t, "the hosts of test are in use by run "+o.ID+" (deploy, started ")
	}
	s.run("plan").must(t, run.Done)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s.ending(cmd, o, output.String()).ends(t, 1, "interrupted", "a=interrupted").says(t, "the deploy was interrupted in the task \"Wait\" of the play \"Write\"", "hint: dagger call deploy --env=test")
	s.playbook("\n- name: Done\n  hosts: all\n  gather_facts: false\n  tasks: [{name: Ping, ansible.builtin.ping: {}}]\n")
	book, err := journal.Open(t.Context(), s.bucket(), []string{s.key.Recipient().String()}, "test/test.tfstate",
		journal.Header{ID: "killed", Stage: "apply", Environment: "test", Layer: "test", Started: time.Now().UTC()}, journal.DefaultBeat, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	s.deploy().must(t, run.BadInput).says(t, "the state of test is in use by run killed (apply, started ")
	if err := book.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.deploy().must(t, run.BadInput).says(t, "run killed (apply, started ", "was interrupted", "hint: dagger call recover --env=test")
	s.run("recover").must(t, run.Done)
	s.deploy().ends(t, 0, "done", "a=ok").says(t, "was interrupted in the task Write / Wait")
}

// No secret is in what a deploy prints or leaves, whatever the playbook does with it.
func TestBlackBoxDeployCanaries(t *testing.T) {
	s := newSite(t, "a")
	canaries := map[string]string{
		"variable": "canary-variable-Zx7/q+Ké\"9'", "output": "canary-output-Kq2+v/8w=", "lines": "canary-first-line-77\ncanary-second-line-88\n",
	}
	s.secret["ANSIBLE_VAR_password"] = canaries["variable"]
	s.secret["ANSIBLE_VAR_certificate"] = strings.ReplaceAll(canaries["lines"], "\n", `\n`)
	delete(canaries, "lines")
	text, _ := json.Marshal(map[string]any{"inner": map[string]any{"token": canaries["output"]}})
	s.outputs(s.inventory(), fmt.Sprintf("output \"ansible_secrets\" {\n  value = jsondecode(%q)\n  sensitive = true\n}\n", text))
	s.write("ansible/secret.j2", "password = {{ password }}\ntoken = {{ inner.token }}\nencoded = {{ password | b64encode }}\n")
	s.playbook(`
- name: Use {{ inner.token }}
  hosts: all
  gather_facts: true
  tasks:
    - name: Write {{ password }}
      ansible.builtin.template: {src: ../secret.j2, dest: "{{ folder }}/secret", mode: "0400"}
    - name: Set a fact
      ansible.builtin.set_fact: {remembered: "{{ password }}-{{ inner.token }}"}
    - name: Show it
      ansible.builtin.debug: {var: remembered}
    - name: Loop over it
      ansible.builtin.command: {cmd: "echo {{ item }}"}
      changed_when: true
      loop: ["{{ password }}", "{{ inner.token }}"]
    - name: Fail with it
      ansible.builtin.command: {cmd: "sh -c 'echo {{ inner.token | quote }} {{ password | b64encode }} >&2; exit 1'"}
      when: fails | default(true)
`)
	for _, flags := range [][]string{{"--check"}, {"--log=debug"}, {}, {"--check", "--log=debug"}} {
		e := s.deploy(flags...)
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("deploy %q leaks %q\n%s", flags, found, e.stdout)
		}
		if !strings.Contains(e.stdout, "***") {
			t.Errorf("deploy %q masks nothing\n%s", flags, e.stdout)
		}
	}
	if got := s.hosts["a"].read(t, "secret"); !strings.Contains(got, canaries["variable"]) || !strings.Contains(got, canaries["output"]) {
		t.Errorf("the host has %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(s.hosts["a"].folder, "secret")); err != nil || !slices.Contains(strings.Split(string(data), "\n"), "token = "+canaries["output"]) {
		t.Error(err)
	}
}
