package playbook

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"slipway/internal/ansible"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// site has the hosts a, b and c.
func site(t *testing.T) *Site {
	t.Helper()
	r, _, _ := testkit.Quiet(t, run.Command{Name: "deploy"})
	r.Environment = &environment.Environment{Name: "prod", Deploy: &environment.Deploy{Playbook: "site.yml"}}
	r.Work = "/work"
	s := New(r)
	s.Hosts = []remote.Host{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	return s
}

func TestResults(t *testing.T) {
	s := site(t)
	done := &ansible.Record{Hosts: map[string]*ansible.Stats{
		"a": {OK: 3, Changed: 1}, "b": {OK: 1, Failed: 1, Changed: 1}, "localhost": {OK: 1}, "d": {Unreachable: 1},
	}}
	want := func(interrupted bool, text string) {
		t.Helper()
		var got []string
		for _, h := range s.results(done, interrupted) {
			got = append(got, h.Name+"="+h.Status)
		}
		if strings.Join(got, " ") != text {
			t.Errorf("got %q, want %s", got, text)
		}
	}
	want(false, "a=changed b=failed c=skipped d=unreachable localhost=ok")
	want(true, "a=interrupted b=failed c=interrupted d=unreachable localhost=interrupted")
}

// What went wrong is told by status, exit code and next step.
func TestJudge(t *testing.T) {
	failure := func(host string, unreachable bool, reason string) ansible.Failure {
		return ansible.Failure{Host: host, Play: "Site", Task: "docker : Install", Path: "/work/repository/ansible/x.yml:3", Reason: reason, Unreachable: unreachable}
	}
	began := func(stats map[string]*ansible.Stats, failures ...ansible.Failure) *ansible.Record {
		return &ansible.Record{Began: true, Play: "Site", Task: "docker : Install", Hosts: stats, Failures: failures}
	}
	malformed := began(map[string]*ansible.Stats{"a": {OK: 1}})
	malformed.Malformed = 2
	for name, c := range map[string]struct {
		done               *ansible.Record
		code               int
		printed            string
		status, want, hint string
	}{
		"done":        {done: began(map[string]*ansible.Stats{"a": {OK: 1}})},
		"rescued":     {done: began(map[string]*ansible.Stats{"a": {OK: 1, Rescued: 1}}, failure("a", false, "x"))},
		"not parsed":  {done: &ansible.Record{}, code: 4, printed: "[WARNING]: old\n[ERROR]: YAML parsing failed: x\nOrigin: y", status: "refused", want: "ansible cannot run the playbook site.yml: YAML parsing failed: x", hint: "$EDITOR ansible/playbooks/site.yml"},
		"no task":     {done: &ansible.Record{Play: "Site"}, code: 4, printed: "[ERROR]: YAML parsing failed: in a file of group_vars", status: "refused", want: "ansible cannot run the playbook site.yml: YAML parsing failed: in a file of group_vars", hint: "$EDITOR ansible/playbooks/site.yml"},
		"interrupted": {done: began(nil), code: ansible.ExitInterrupted, status: "interrupted", want: `the deploy was interrupted in the task "docker : Install" of the play "Site"`, hint: "dagger call deploy --env=prod"},
		"no hosts":    {done: &ansible.Record{}, code: 0},
		"unknown":     {done: began(map[string]*ansible.Stats{"a": {OK: 1}}), code: 250, printed: "ERROR! Unexpected", status: "", want: `ansible-playbook ended with code 250 in the task "docker : Install" of the play "Site": Unexpected`},
		"raw results": {done: began(map[string]*ansible.Stats{"a": {OK: 1}}), code: 2, printed: "{\"diff\": \"a secret\"}\nIt broke", status: "", want: `of the play "Site": It broke`},
		"malformed":   {done: malformed, status: "", want: "ansible-playbook reported 2 results in an unknown form, so what they changed is not known"},
		"a task":      {done: began(map[string]*ansible.Stats{"a": {Failed: 1}, "b": {OK: 1}}, failure("a", false, "Validation failed:\nx is missing\nmore")), code: 2, status: "failed", want: `1 of 2 hosts did not get to the end: a is stopped in the task "docker : Install" (ansible/x.yml:3): Validation failed: x is missing`, hint: "dagger call deploy --env=prod --limit=a"},
		"a host":      {done: began(map[string]*ansible.Stats{"a": {Unreachable: 1}}, failure("a", true, "No route to host")), code: 4, status: "unreachable", want: `1 of 1 host did not get to the end: a is unreachable in the task "docker : Install" (ansible/x.yml:3): No route to host`, hint: "dagger call ssh --env=prod --host=a"},
		"both":        {done: began(map[string]*ansible.Stats{"a": {Unreachable: 1}, "b": {Failed: 1}}, failure("a", true, "gone"), failure("b", false, "no")), code: 6, status: "failed", want: "2 of 2 hosts did not get to the end: a is unreachable", hint: "dagger call deploy --env=prod --limit=b"},
		"another key": {done: began(map[string]*ansible.Stats{"a": {Unreachable: 1}}, failure("a", true, "@@@@\nHost key verification failed.")), code: 4, status: "unreachable", want: "the host key does not match"},
		"a wrong key": {done: began(map[string]*ansible.Stats{"a": {Unreachable: 1}}, failure("a", true, "x: Permission denied (publickey).")), code: 4, status: "unreachable", want: "the host does not accept the SSH key"},
		"knew before": {done: began(map[string]*ansible.Stats{"c": {Failed: 1}}, failure("c", false, "no room")), code: 2, status: "failed", want: "(ansible/x.yml:3): no room"},
		"and more": {done: func() *ansible.Record {
			r := began(map[string]*ansible.Stats{"a": {Failed: 1}}, failure("a", false, "no room"))
			r.Malformed = 1
			return r
		}(), code: 2, status: "failed", want: "1 of 1 host did not get to the end"},
		"known before": {done: began(map[string]*ansible.Stats{"c": {Unreachable: 1}}, failure("c", true, "Connection closed")), code: 4, status: "unreachable", want: "the host key is revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			s := site(t)
			s.unreached = map[string]error{"c": remote.ErrRevokedKey}
			printed := &output{}
			_, _ = printed.Write([]byte(c.printed + "\n"))
			err := s.judge(t.Context(), c.done, c.code, nil, printed)
			if c.want == "" {
				must.Do(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			e, ok := fault.Of(err)
			// No event says what is wrong then.
			if told := c.status == "refused" || c.status == ""; (told && c.code > 0) != (c.printed != "" && strings.Contains(s.Complaints.String(), c.printed)) {
				t.Errorf("the console has %q", s.Complaints.String())
			}
			switch {
			case ok != (c.status != ""):
				t.Errorf("got %v", err)
			case ok && (string(e.Kind) != c.status || !strings.HasPrefix(e.Hint, c.hint)):
				t.Errorf("got %s and %s, want %s and %s", e.Kind, e.Hint, c.status, c.hint)
			}
		})
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := site(t).judge(stopped, began(nil), 2, nil, &output{}); !fault.Is(err, fault.Interrupted) {
		t.Errorf("a run that was stopped: %v", err)
	}
	if err := site(t).judge(t.Context(), &ansible.Record{}, 0, errors.New("not started"), &output{}); err == nil || err.Error() != "not started" {
		t.Errorf("got %v", err)
	}
}

// Each task is shown, and on which hosts it changed something or failed; with --log=plays, only what failed.
func TestProgress(t *testing.T) {
	events := []ansible.Event{
		{Kind: ansible.PlayStart, Play: ansible.Named{Name: "Site"}},
		{Kind: ansible.TaskStart, Task: ansible.Named{Name: "docker : Install"}},
		{Kind: ansible.OK, Hosts: map[string]ansible.Outcome{"a": {Changed: true}}},
		{Kind: ansible.OK, Hosts: map[string]ansible.Outcome{"b": {}}},
		{Kind: ansible.Failed, Hosts: map[string]ansible.Outcome{"c": {Message: "no room"}}},
	}
	for log, want := range map[string]string{
		LogTasks: "play Site …\n  docker : Install\n  a: changed\n  c: failed: no room\n", LogPlays: "play Site …\n  c: failed: no room\n",
	} {
		r, _, shown := testkit.Quiet(t, run.Command{Name: "deploy"})
		s, done := New(r), &ansible.Record{}
		for _, e := range events {
			done.Add(e)
			s.progress(e, done, log)
		}
		if got := shown.String(); got != want {
			t.Errorf("%s: got %q, want %q", log, got, want)
		}
	}
}

// Of what Ansible prints besides its events, warnings are shown, and everything to find a mistake.
func TestPrinter(t *testing.T) {
	for log, want := range map[string]string{LogTasks: "[WARNING]: old\n", LogPlays: "[WARNING]: old\n", LogDebug: "[WARNING]: old\n<a> SSH\n"} {
		r, _, shown := testkit.Quiet(t, run.Command{Name: "deploy"})
		for _, line := range []string{"[WARNING]: old", "<a> SSH"} {
			New(r).printer(log)(line)
		}
		if got := shown.String(); got != want {
			t.Errorf("%s: got %q, want %q", log, got, want)
		}
	}
}

// What controls a terminal is removed with its parameters.
func TestInset(t *testing.T) {
	if got, want := inset("\x1b[2Kweb | \x1b[31mred\x1b[0m\n[2]\n"), "  web | red\n  [2]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Only the end of what Ansible prints is kept, by whole lines.
func TestOutput(t *testing.T) {
	var seen []string
	o := &output{each: func(line string) { seen = append(seen, line) }}
	for _, part := range []string{"a\nb", "b\n\n  \nc", "c"} {
		_, _ = o.Write([]byte(part))
	}
	o.line([]byte("between"))
	whole := &output{}
	_, _ = whole.Write([]byte("a\n"))
	if got := whole.String(); got != "a" {
		t.Errorf("got %q", got)
	}
	if got := o.String(); got != "a\nbb\nbetween\ncc" {
		t.Errorf("got %q", got)
	}
	if !reflect.DeepEqual(seen, []string{"a", "bb", "between"}) {
		t.Errorf("passed on %q", seen)
	}
	for range 100 {
		o.line([]byte("x"))
	}
	if n := strings.Count(o.String(), "\n"); n != keptLines {
		t.Errorf("%d lines are kept", n)
	}
}

func TestDescribeDead(t *testing.T) {
	started := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	dead := journal.Run{Header: journal.Header{ID: "seven", Stage: "deploy", Started: started}}
	if got, want := describeDead(dead), "run seven (deploy, started 2026-11-22 12:00:00 UTC) was interrupted before its first task: this deploy begins again with the first task\n"; got != want {
		t.Errorf("got %s", got)
	}
	dead.Commit, dead.Who = "abc", "age1x"
	dead.Entries = []journal.Entry{{Kind: journal.Begin}, {Kind: journal.Start, Address: "Site / one"}, {Kind: journal.Start, Address: "Site / two"}}
	if got, want := describeDead(dead), "run seven (deploy, started 2026-11-22 12:00:00 UTC) of commit abc by age1x was interrupted in the task Site / two: this deploy begins again with the first task\n"; got != want {
		t.Errorf("got %s", got)
	}
}
