//go:build blackbox

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway/internal/journal"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// The programs of an effect, of which one is killed, and nothing else.
const (
	theRunner    = "runner"
	theTofu      = "tofu"
	theProvider  = "provider"
	theContainer = "container" // with all that is in it
)

// A victim is what a kill is aimed at.
type victim struct{ effect, program string }

// programs are those that an effect has: some start no tofu.
var programs = map[string][]string{
	"bootstrap": {theRunner, theContainer},
	"apply":     {theRunner, theTofu, theProvider, theContainer},
	"destroy":   {theRunner, theTofu, theProvider, theContainer},
	"recover":   {theRunner, theTofu, theProvider, theContainer},
	"unlock":    {theRunner, theContainer},
	"start":     {theRunner, theTofu, theContainer},
	"stop":      {theRunner, theTofu, theContainer},
}

// A shooting knows how long each effect takes, and what was killed.
type shooting struct {
	*system
	random *rand.Rand
	empty  []string                 // what the clouds have when nothing is made
	takes  map[string]time.Duration // each effect, when it was last not killed
	kills  map[victim]int
	hits   int // in all
}

// newServer is a system without a database, whose provider makes each of its tests slow.
func newServer(t *testing.T) *system {
	s := newSystem(t)
	s.write("environments/test/main.tf", `
provider "openstack" {
  max_retries = 5
}
module "backend" {
  source          = "../../modules/compute"
  environment     = local.environment
  flavor          = local.backend_flavor
  running         = local.backend_running
  ssh_public_key  = var.ssh_public_key
  host_key        = var.host_key
  host_key_public = var.host_key_public
  admin_prefixes  = local.admin_prefixes
  vlan_id         = local.vlan_id
  rules           = { https = { description = "HTTPS", port_min = 443 } }
}
`)
	s.write("environments/test/outputs.tf", "")
	s.write("environments/test/versions.tf", `
terraform {
  backend "s3" {}
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}
`)
	return s
}

func killable(t *testing.T, random *rand.Rand) *shooting {
	s := newServer(t)
	k := &shooting{system: s, random: random, empty: s.inventory(), takes: map[string]time.Duration{}, kills: map[victim]int{}}
	for _, effect := range []string{"bootstrap", "apply", "stop", "start", "destroy", "apply"} {
		began := time.Now()
		k.run(effect, confirm).must(t, run.Done)
		k.takes[effect] = time.Since(began)
	}
	k.run("destroy", confirm).must(t, run.Done)
	k.takes["recover"], k.takes["unlock"] = k.takes["apply"]/2, time.Second
	return k
}

// shoot runs an effect and kills one of its programs at a random instant: the one that was
// killed least. It says which.
func (k *shooting) shoot(effect string) victim {
	k.t.Helper()
	v := victim{effect, ""}
	for _, i := range k.random.Perm(len(programs[effect])) {
		if other := (victim{effect, programs[effect][i]}); v.program == "" || k.kills[other] < k.kills[v] {
			v = other
		}
	}
	if k.fire(v) {
		k.kills[v]++
		k.hits++
	}
	return v
}

func (k *shooting) fire(v victim) bool {
	o := k.options(v.effect)
	o.DeadAfter = time.Second
	confirm(&o)
	var output bytes.Buffer
	began := time.Now()
	cmd := k.startIn(o, &output, v.program == theContainer)
	ended := make(chan struct{})
	var failure error
	go func() { failure = cmd.Wait(); close(ended) }()
	instant := time.Duration(k.random.Int64N(int64(k.takes[v.effect])))
	select {
	case <-ended: // too late
		if failure == nil {
			k.takes[v.effect] = time.Since(began)
		}
		return false
	case <-time.After(instant):
	}
	hit := false
	for !hit {
		switch v.program {
		case theRunner, theContainer:
			hit = cmd.Process.Kill() == nil
		case theTofu:
			hit = killOne(tofus(o.Work))
		case theProvider:
			hit = killOne(processes(o.Work, "terraform-provi"))
		}
		select {
		case <-ended:
			return hit
		case <-time.After(5 * time.Millisecond):
		}
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		_ = cmd.Process.Kill()
		<-ended
		k.t.Errorf("%s does not end after its %s was killed:\n%s", v.effect, v.program, output.String())
	}
	return true
}

func killOne(pids []int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool { return syscall.Kill(pid, syscall.SIGKILL) == nil })
}

func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// startIn is start, without a process namespace where only the runner is to die.
func (k *shooting) startIn(o call, output *bytes.Buffer, container bool) *exec.Cmd {
	if container {
		return k.start(o, output)
	}
	text, err := json.Marshal(o)
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.CommandContext(k.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_STAGE="+string(text))
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second // what a killed runner leaves behind may hold the pipe
	testkit.Start(k.t, cmd)
	k.t.Cleanup(func() { killAll(processes(o.Work, "terraform-provi")) }) // which nobody else does
	return cmd
}

// unlocked fails the test if a state whose last run was interrupted has no lock of that
// run any more, or takes an apply.
func (k *shooting) unlocked(v victim) {
	k.t.Helper()
	const key = "test/test.tfstate"
	runs, err := journal.Runs(k.t.Context(), k.bucket(), k.reader(), key)
	if err != nil {
		k.t.Fatal(err)
	}
	lock, err := k.bucket().ReadLock(k.t.Context(), key)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, journaled := range runs {
		if journaled.Over() {
			continue
		}
		begun := slices.ContainsFunc(journaled.Entries, func(e journal.Entry) bool { return e.Kind == journal.Start })
		if begun && v.effect != "unlock" && v.effect != "recover" && (lock == nil || !journaled.Holds(*lock)) {
			k.t.Errorf("%v: run %s had begun, and its lock is %v", v, journaled.ID, lock)
		}
		k.run("apply", dead).must(k.t, run.BadInput)
		return
	}
}

// settled recovers, and checks that nothing exists twice.
func (k *shooting) settled(v victim) {
	k.t.Helper()
	k.run("recover", dead).must(k.t, run.Done)
	k.run("unlock").must(k.t, run.Done).says(k.t, "not locked")
	k.noneTwice(v)
}

func (k *shooting) noneTwice(v victim) {
	k.t.Helper()
	all := k.inventory()
	for i := range all[1:] {
		if all[i] == all[i+1] {
			k.t.Errorf("%v: there are two of %s", v, all[i])
		}
	}
}

// power checks whether the server has a status, after the effect was repeated.
func (k *shooting) power(effect, want string) {
	k.t.Helper()
	k.run(effect, confirm).must(k.t, run.Done)
	c := &cloud{t: k.t, url: k.url + "/-/openstack"}
	var answer struct{ Servers []struct{ Status string } }
	if err := json.Unmarshal(c.call(http.MethodGet, "/compute/v2.1/servers/detail", "", http.StatusOK), &answer); err != nil {
		k.t.Fatal(err)
	}
	if len(answer.Servers) != 1 || answer.Servers[0].Status != want {
		k.t.Errorf("after %s: %+v", effect, answer.Servers)
	}
}

// life is that of an environment from bootstrap to destroy, in which each effect is killed.
func (k *shooting) life() {
	if err := k.bucket().Remove(k.t.Context(), "test/environment.json"); err != nil {
		k.t.Fatal(err)
	}
	k.shoot("bootstrap")
	k.run("bootstrap").must(k.t, run.Done)

	v := k.shoot("apply")
	k.unlocked(v)
	time.Sleep(2 * time.Second) // it is dead now
	k.shoot("unlock")
	k.shoot("recover")
	k.settled(v)
	k.run("apply").must(k.t, run.Done)
	k.run("plan").must(k.t, run.Done).says(k.t, "No changes")
	k.noneTwice(v)

	k.shoot("stop")
	k.power("stop", "SHUTOFF")
	k.shoot("start")
	k.power("start", "ACTIVE")

	v = k.shoot("destroy")
	k.unlocked(v)
	k.settled(v)
	k.run("destroy", confirm).must(k.t, run.Done)
	if now := k.inventory(); !slices.Equal(now, k.empty) {
		k.t.Fatalf("%v: after destroy there is %q", v, now)
	}
}

// Every program of an effect is killed at random instants, in every effect: nothing is lost,
// nothing exists twice, and nothing is silently unlocked. SLIPWAY_KILLS is the total number of
// kills.
func TestBlackBoxKillMatrix(t *testing.T) {
	testkit.Deep(t, "it kills at random moments")
	t.Parallel()
	kills := testkit.Kills(t, 20)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const lives = 2 // beside each other: each waits much
	for life := range lives {
		t.Run(fmt.Sprint(life), func(t *testing.T) {
			k := killable(t, rand.New(rand.NewPCG(seed, uint64(life))))
			began, wanted := time.Now(), (kills+life)/lives
			for range wanted {
				if k.life(); k.hits >= wanted || t.Failed() {
					break
				}
			}
			for _, v := range slices.SortedFunc(maps.Keys(k.kills), func(a, b victim) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
				t.Logf("%-9s %-9s killed %d times", v.effect, v.program, k.kills[v])
			}
			t.Logf("%d kills in %s", k.hits, time.Since(began).Round(time.Second))
			if k.hits < wanted {
				t.Errorf("%d of %d kills hit", k.hits, wanted)
			}
		})
	}
}

// processes are those of a name that work below a folder.
func processes(work, name string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		comm, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
		dir, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(dir, work) && strings.HasPrefix(string(comm), name) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// tofus are the processes of tofu that work below a folder.
func tofus(work string) []int { return processes(work, "tofu") }
