package ansible

import (
	"slices"
	"strings"
	"testing"
)

func record(t *testing.T, lines ...string) *Record {
	t.Helper()
	r := &Record{}
	for _, line := range lines {
		e, ok := ReadEvent([]byte(line))
		if !ok {
			t.Fatalf("%s is not an event", line)
		}
		r.Add(e)
	}
	return r
}

const (
	play = `{"_event":"v2_playbook_on_play_start","play":{"name":"Site"}}`
	task = `{"_event":"v2_playbook_on_task_start","task":{"name":"docker : Install"}}`
)

// result is a task's result on a host.
func result(kind, host, fields string) string {
	return `{"_event":"` + kind + `","task":{"name":"docker : Install","path":"/r/main.yml:3"},"hosts":{"` + host + `":{` + fields + `}}}`
}

func TestReadEvent(t *testing.T) {
	for _, line := range []string{"", "plain", `{"a": 1}`, "{", `["_event"]`, "<192.0.2.1> ESTABLISH SSH CONNECTION"} {
		if _, ok := ReadEvent([]byte(line)); ok {
			t.Errorf("%q is an event", line)
		}
	}
}

// Whatever form the results of a module have, a change is seen. What cannot be read is counted.
func TestOtherForms(t *testing.T) {
	r := record(t, play, task,
		result(OK, "a", `"changed":true,"results":["Installed: nginx"],"rc":0,"msg":""`),
		result(OK, "a", `"changed":true,"stderr":["a list"],"item":{"name":"x"},"diff":{"before":"x\n","after":"y\n"}`),
		result(OK, "a", `"changed":true,"results":[{"changed":true,"item":7},"text",{"changed":false,"item":8}]`),
		result(OK, "a", `"changed":1`), result(OK, "a", `"changed":0`), result(OK, "a", `"changed":null`),
		result(Failed, "b", `"msg":["two","lines"],"rc":"127"`),
		`{"_event":"v2_runner_on_ok","hosts":["a"]}`, `{"_event":{}}`)
	if a := *r.Hosts["a"]; a != (Stats{OK: 6, Changed: 4}) || len(r.Changes) != 4 || r.Changes[1].Item != `(item={"name":"x"})` || r.Changes[2].Item != "(item=7)" {
		t.Errorf("got %+v, %+v", a, r.Changes)
	}
	if len(r.Failures) != 1 || r.Failures[0].Reason != `["two","lines"]` {
		t.Errorf("got %+v", r.Failures)
	}
	if r.Malformed != 2 {
		t.Errorf("%d are malformed", r.Malformed)
	}
}

// The recap's numbers win; without it, what was seen counts.
func TestRecord(t *testing.T) {
	r := record(t)
	if r.Began || r.Complete {
		t.Error("it began")
	}
	if r = record(t, play); r.Began || r.Play != "Site" {
		t.Errorf("a play without a task: %+v", r)
	}
	lines := []string{play, task, result(OK, "a", `"changed":true`), result(OK, "a", `"changed":false`), result(Failed, "b", `"msg":"no"`), result(Unreachable, "c", `"msg":"gone"`)}
	r = record(t, lines...)
	if !r.Began || r.Complete || r.Play != "Site" || r.Task != "docker : Install" {
		t.Errorf("got %+v", r)
	}
	if a, b, c := *r.Hosts["a"], *r.Hosts["b"], *r.Hosts["c"]; a != (Stats{OK: 2, Changed: 1}) || b != (Stats{Failed: 1}) || c != (Stats{Unreachable: 1}) {
		t.Errorf("got %+v, %+v and %+v", a, b, c)
	}
	r = record(t, append(lines, `{"_event":"v2_playbook_on_stats","stats":{"a":{"ok":5,"changed":2,"skipped":1},"b":{"failures":0,"ok":1,"rescued":1},"c":{"unreachable":1}}}`)...)
	if a := *r.Hosts["a"]; !r.Complete || a != (Stats{OK: 5, Changed: 2, Skipped: 1}) {
		t.Errorf("got %+v", a)
	}
	// The failure on b was rescued.
	if fatal := r.Fatal(); len(fatal) != 1 || fatal[0] != (Failure{"c", "Site", "docker : Install", "/r/main.yml:3", "gone", true}) {
		t.Errorf("got %+v", fatal)
	}
}

// Of several failures on a host, the last ones are those that were not ignored.
func TestFatal(t *testing.T) {
	r := record(t, play, task, result(Failed, "a", `"msg":"ignored"`), result(Failed, "a", `"msg":"fatal"`), result(Failed, "b", `"msg":"also"`),
		`{"_event":"v2_playbook_on_stats","stats":{"a":{"failures":1,"ignored":1},"b":{"failures":1}}}`)
	var reasons []string
	for _, f := range r.Fatal() {
		reasons = append(reasons, f.Reason)
	}
	if !slices.Equal(reasons, []string{"fatal", "also"}) {
		t.Errorf("got %q", reasons)
	}
}

func TestReason(t *testing.T) {
	for fields, want := range map[string]string{
		`"msg":"no"`:   "no",
		`"msg":["a"]`:  `["a"]`,
		`"stderr":"x"`: "x",
		`"msg":"non-zero return code","rc":3,"stderr":"no room\n"`:              "it ended with code 3: no room",
		`"msg":"non-zero return code","rc":3`:                                   "non-zero return code",
		`"msg":"failed: x","module_stderr":"x"`:                                 "failed: x",
		`"censored":"the output has been hidden","changed":true,"msg":"secret"`: "its result is hidden by no_log",
		`"msg":"All items","results":[{"item":"a"},{"item":"b","failed":true,"msg":"no b"},{"_ansible_item_label":"c","item":9,"failed":true}]`: "(item=b) no b\n(item=c) without a message",
		``: "without a message",
	} {
		r := record(t, play, task, result(Failed, "a", fields))
		if got := strings.TrimSpace(r.Failures[0].Reason); got != want {
			t.Errorf("%s: got %q, want %q", fields, got, want)
		}
	}
}

// Each item of a loop that changed is a change, with its differences.
func TestChanges(t *testing.T) {
	r := record(t, play, task,
		result(OK, "a", `"changed":true,"diff":{"before":"x\n","after":"y\n","before_header":"/etc/a","after_header":"/etc/a (new)"}`),
		result(OK, "a", `"changed":true,"results":[{"item":"one","changed":false,"diff":[]},{"item":"two","changed":true,"diff":[{"before":{"mode":"0600"},"after":{"mode":"0644"}},{"before":"","after":""},{"prepared":"@@ -1 +1 @@\n"}]}]`),
		result(OK, "a", `"changed":false,"diff":{"before":"p","after":"q"}`))
	if len(r.Changes) != 2 || r.Changes[0].Item != "" || r.Changes[1].Item != "(item=two)" || len(r.Changes[1].Diffs) != 2 {
		t.Fatalf("got %+v", r.Changes)
	}
	if got, want := r.Changes[0].Diffs[0].Unified(), "--- /etc/a\n+++ /etc/a (new)\n@@ -1 +1 @@\n-x\n+y\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := r.Changes[1].Diffs[0].Unified(), "--- before\n+++ after\n@@ -1,3 +1,3 @@\n {\n-  \"mode\": \"0600\"\n+  \"mode\": \"0644\"\n }\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := r.Changes[1].Diffs[1].Unified(); got != "@@ -1 +1 @@\n" {
		t.Errorf("got %q", got)
	}
}

// No value is on the command line, and every choice is.
func TestArgs(t *testing.T) {
	for want, p := range map[string]Playbook{
		"--inventory=i --forks=5 site.yml": {File: "site.yml", Inventory: "i", Forks: 5},
		"--inventory=i --forks=1 --extra-vars=@v --check --diff --limit=a,b --tags=t -vvv playbooks/s.yml": {File: "playbooks/s.yml", Inventory: "i", Forks: 1, Variables: []string{"v"}, Check: true, Limit: "a,b", Tags: "t", Verbose: true},
	} {
		if got := strings.Join(p.Args(), " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestEnv(t *testing.T) {
	env := Settings{Path: "/bin", Home: "/work/home", Temp: "/work/tmp", Sockets: "/work/ssh", SSHConfig: "/work/ssh_config"}.Env()
	for _, want := range []string{"PATH=/bin", "ANSIBLE_PIPELINING=1", "ANSIBLE_SSH_ARGS=-F /work/ssh_config -o StrictHostKeyChecking=yes -o ControlMaster=auto -o ControlPersist=60s", "ANSIBLE_SSH_CONTROL_PATH_DIR=/work/ssh", "ANSIBLE_CACHE_PLUGIN=memory"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
}
