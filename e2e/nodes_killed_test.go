//go:build e2e

package e2e

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway/internal/testkit"
)

// runners are the processes of the runner that run this command, in whatever container.
func runners(command ...string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		args := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
		if filepath.Base(args[0]) == "slipway" && len(args) > len(command) && slices.Equal(args[1:1+len(command)], command) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

var hinted = regexp.MustCompile(`hint: (?:sleep (\d+) && )?dagger call ([^#\n]+)`)

// follow runs the commands of hints, one after the other, until one succeeds.
func (c *checkout) follow(t *testing.T, r result) result {
	t.Helper()
	for range 5 {
		hint := hinted.FindStringSubmatch(r.stderr)
		if r.code == 0 || hint == nil {
			break
		}
		t.Logf("%s", hint[0])
		seconds, _ := strconv.Atoi(hint[1])
		time.Sleep(time.Duration(seconds) * time.Second) //nolint:forbidigo // as the hint says
		r = c.call(t, strings.Fields(hint[2])...)
	}
	return r.must(t)
}

// `up` of a cluster is killed at a random moment: its runner, or the call as a whole. The same command, and what it
// hints at, end in the same place with one etcd. SLIPWAY_KILLS is how often; each takes some three minutes.
func TestUpKilled(t *testing.T) {
	testkit.Deep(t, "it kills at random moments")
	kills := testkit.Kills(t, 2)
	needNodes(t, nodes...)
	c := newClusterCheckout(t)
	const env = "--env=cluster-local"
	for i := range kills {
		for _, name := range nodes {
			node(t, "wipe", name).must(t)
			node(t, "on", name).must(t)
		}
		var log bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "dagger", append(c.args(t), "up", env)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, &log, &log
		testkit.Start(t, cmd)
		moment := time.Duration(rand.Int64N(int64(100 * time.Second)))
		time.Sleep(moment) //nolint:forbidigo // at a random moment
		killed, victims := "the runner", runners("up", env)
		if i%2 == 0 || len(victims) == 0 {
			killed, victims = "the call", []int{-cmd.Process.Pid}
		}
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		_ = cmd.Wait()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		t.Logf("%s is killed after %s, and had said: %s", killed, moment, lines[len(lines)-1])

		c.follow(t, c.call(t, "up", env)).says(t, "health     2 ready")
		c.call(t, "up", env).must(t).says(t, "cluster    no change", "health     2 ready")
		if n := strings.Count(c.call(t, "cluster", "status", env).must(t).stdout, "as wanted"); n != 2 {
			t.Errorf("%d nodes are as wanted", n)
		}
		members := c.call(t, "cluster", "talosctl", env, "--args=-n,cp-1,etcd,members").must(t).stdout
		if strings.Count(members, "\n") != 2 || !strings.Contains(members, " cp-1 ") {
			t.Errorf("the members of etcd are:\n%s", members)
		}
	}
}
