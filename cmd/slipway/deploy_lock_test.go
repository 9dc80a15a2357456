//go:build blackbox

package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"slipway/internal/testkit"
)

// again is a hint that says when to repeat which stage.
var again = regexp.MustCompile(`^sleep ([0-9]+) && dagger call ([a-z]+) --env=test   # if it was killed; otherwise wait until it ends$`)

// obey does what such a hint says.
func (s *site) obey(hint string) ended {
	s.t.Helper()
	found := again.FindStringSubmatch(hint)
	if found == nil {
		s.t.Fatalf("nobody can do what the hint says: %s", hint)
	}
	seconds, err := strconv.Atoi(found[1])
	if err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(time.Duration(seconds) * time.Second) //nolint:forbidigo // as the hint says
	return s.inTrixie(found[2])
}

// A deploy whose job was killed a moment ago is named to everyone who asks, with the command that goes
// on from there: the next deploy, or unlock for who wants only that. One that works is left alone.
func TestBlackBoxDeployLock(t *testing.T) {
	testkit.Deep(t, "it waits for two dead runs, a minute each")
	s := newSite(t, "a")
	s.playbook(untilGo)
	host := s.hosts["a"]
	kill := func() (o call, ask func(stage string) ended) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(host.folder, "begun")); err != nil {
			t.Fatal(err)
		}
		o = s.call("deploy", "--commit=abc123")
		cmd := s.startDeploy(o, io.Discard)
		s.waits(o.ID)
		ask = func(stage string) ended {
			t.Helper()
			return s.inTrixie(stage).must(t, 3).says(t, "run "+o.ID+" (deploy, started ", " of commit abc123 by "+s.key.Recipient().String()+" is alive: its last heartbeat was ")
		}
		// Another machine, while this one works.
		ask("unlock").says(t, "test: not locked\n", "the hosts of test: locked by slipway@"+o.ID+" since ")
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		return o, ask
	}

	o, ask := kill()
	if err := os.WriteFile(filepath.Join(host.folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := s.obey(ask("deploy").result.Hint).ends(t, 0, "done", "a=ok").says(t, "run "+o.ID+" (deploy, started ")
	if n := strings.Count(e.stdout, "was interrupted in the task Write / Wait"); n != 1 {
		t.Errorf("the interruption is told %d times\n%s", n, e.stdout)
	}

	if err := os.Remove(filepath.Join(host.folder, "go")); err != nil {
		t.Fatal(err)
	}
	o, ask = kill()
	s.obey(ask("unlock").result.Hint).must(t, 0).says(t, "the hosts of test: locked by slipway@"+o.ID+" since ", "the hosts of test: unlocked\n")
	s.inTrixie("unlock").must(t, 0).says(t, "test: not locked\n", "the hosts of test: not locked\n")
	if err := os.WriteFile(filepath.Join(host.folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// What it did not finish is still known.
	s.deploy().ends(t, 0, "done", "a=ok").says(t, "run "+o.ID+" (deploy, started ", "was interrupted in the task Write / Wait")

	// It is not known whose this one is. The command in the hint removes it.
	s.object("test/deploy.hosts.tflock", `{"ID":"of-a-laptop","Operation":"deploy","Who":"root@laptop","Created":"2026-11-22T12:00:00Z"}`)
	e = s.deploy().ends(t, 3, "refused", "").says(t, "the lock of the hosts of test is in no journal, so it is not known whether root@laptop is dead")
	if want := "make sure that it is dead, then: dagger call unlock --env=test --lock-id=of-a-laptop"; e.result.Hint != want {
		t.Errorf("the hint is %s, want %s", e.result.Hint, want)
	}
	s.inTrixie("unlock").must(t, 3).says(t, "the hosts of test: locked by root@laptop since 2026-11-22 12:00:00 UTC (deploy, lock of-a-laptop)")
	s.inTrixie("unlock", "--lock-id=of-a-laptop").must(t, 0).says(t, "the hosts of test: unlocked\n")
	s.deploy().ends(t, 0, "done", "a=ok")
}
