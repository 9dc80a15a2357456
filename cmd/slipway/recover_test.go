//go:build blackbox

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"slipway/dev/cloudsim/openstack"
	"slipway/internal/journal"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// What cannot be imported is reported with its ID. It does not prevent the import of the rest.
func TestBlackBoxRecoverImports(t *testing.T) {
	p := newProject(t, "")
	c := p.onCloud()
	p.write("environments/test/main.tf", c.code("operator", "second"))
	p.run("bootstrap").must(t, run.Done)
	// One that is there, and one of another id than its provider imports by.
	c.call(http.MethodPost, "/compute/v2.1/os-keypairs", `{"keypair": {"name": "operator", "public_key": "`+cloudKey+`"}}`, http.StatusOK)
	book, err := journal.Open(t.Context(), p.bucket(), []string{p.key.Recipient().String()}, "test/test.tfstate",
		journal.Header{ID: "dead", Stage: "apply", Environment: "test", Layer: "test", Started: time.Now().UTC()}, journal.DefaultBeat, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"operator", "second"} {
		address, id := "openstack_compute_keypair_v2."+name, name
		if name == "second" {
			id = "project/second"
		}
		book.Add(journal.Entry{Kind: journal.Start, Time: time.Now(), Address: address, Action: "create"})
		book.Add(journal.Entry{Kind: journal.Complete, Time: time.Now(), Address: address, Action: "create", IDKey: "id", ID: id})
	}
	if err := book.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.run("apply").must(t, run.BadInput).says(t, "was interrupted", "hint: dagger call recover --env=test")
	for range 2 { // the evidence stays, and keeps applies away
		p.run("recover").must(t, run.Failed).says(t, "openstack_compute_keypair_v2.second was created, but could not be imported into the state: its id is project/second",
			"cannot account for 1 of the resources that were or may have been created: openstack_compute_keypair_v2.second.", "dagger call recover --env=test --seen='openstack_compute_keypair_v2.second'")
		p.run("apply").must(t, run.BadInput).says(t, "was interrupted", "hint: dagger call recover --env=test")
	}
	p.run("state-list").must(t, run.Done).says(t, "test: openstack_compute_keypair_v2.operator\n")
	p.run("recover", accounted("openstack_compute_keypair_v2.other")).must(t, run.Failed).says(t, "cannot account for")
	p.run("recover", accounted("openstack_compute_keypair_v2.second")).must(t, run.Done).says(t, "was confirmed with --seen")
	p.run("recover").must(t, run.Done).says(t, "nothing was interrupted")
	p.run("plan").must(t, run.Changes).says(t, "1 to create", "openstack_compute_keypair_v2.second")
}

func accounted(addresses string) func(*call) { return func(o *call) { o.add("--seen=" + addresses) } }

// dead has a run taken for dead after a second, and waits for it.
func dead(o *call) {
	o.DeadAfter = time.Second
	time.Sleep(2 * time.Second) //nolint:forbidigo // the age of a sign of life counts whole seconds
}

// killTofu kills the tofu of a run once n resources are made, and nothing else: as when it
// has no memory left.
func killTofu(t *testing.T, o call, trace string, n int) {
	t.Helper()
	o.when(t, "tofu is killed", func() bool {
		text, _ := os.ReadFile(trace)
		if strings.Count(string(text), "\n") < n {
			return false
		}
		return slices.ContainsFunc(tofus(o.Work), func(pid int) bool { return syscall.Kill(pid, syscall.SIGKILL) == nil })
	}, func() {})
}

// tofu alone dies: what it had made is in no state. The journal stays, and so does the
// lock, until recover has taken it in; nothing is made twice.
func TestBlackBoxTofuKilled(t *testing.T) {
	trace := filepath.Join(testkit.ForTools(t), "trace")
	p := newProject(t, traced(10, trace, "0.1")+`
resource "terraform_data" "late" {
  depends_on = [terraform_data.made]
  provisioner "local-exec" {
    command = "sleep 60"
  }
}
`)
	p.run("bootstrap").must(t, run.Done)
	e := p.runWhile("apply", func(o call) { killTofu(t, o, trace, 10) }).must(t, run.Failed)
	e.says(t, "tofu was killed", "the state may not record everything that the apply did", "dagger call recover --env=test")
	p.run("apply").must(t, run.BadInput).says(t, "was interrupted", "hint: dagger call recover --env=test")
	p.run("unlock").must(t, run.Done).says(t, "unlocked")
	p.run("apply").must(t, run.BadInput).says(t, "was interrupted")
	p.run("recover").must(t, run.Failed).says(t, "terraform_data.late was in flight (create): check whether it was created", "--seen='terraform_data.late'")
	p.run("recover", accounted("terraform_data.late")).must(t, run.Done)
	p.write("environments/test/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"+traced(10, trace, "0.1"))
	p.run("apply").must(t, run.Done)
	countTraces(t, trace, 10, nil)
}

// behindKiller gives the project one key pair in a simulated cloud, and reaches that cloud through a killer only.
func (p *project) behindKiller() (*cloud, *killer) {
	p.t.Helper()
	c := p.onCloud()
	host, path, _ := strings.Cut(strings.TrimPrefix(c.url, "http://"), "/")
	k := newKiller(p.t, "http://"+host)
	c.url = k.url + "/" + path
	p.write("environments/test/main.tf", c.code("operator"))
	p.secret["OS_AUTH_URL"], p.secret["OS_REGION_NAME"], p.secret["OS_TENANT_NAME"] = c.url+"/identity/v3/", openstack.Region, "slipway"
	p.seal()
	p.run("bootstrap").must(p.t, run.Done)
	return c, k
}

// A provider dies between the effect of a request and its response: tofu itself ends cleanly, and
// what was created is in no state. recover finds it, and the next apply does not create another.
func TestBlackBoxProviderKilled(t *testing.T) {
	p := newProject(t, "")
	c, k := p.behindKiller()
	e := p.run("apply", func(o *call) {
		work := o.Work
		k.arm(0, func() {
			for _, pid := range processes(work, "provider") {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		})
	}).must(t, run.Failed)
	e.says(t, "the provider crashed while creating openstack_compute_keypair_v2.operator", "hint: dagger call recover --env=test")
	k.arm(0, nil)
	p.run("apply").must(t, run.BadInput).says(t, "was interrupted", "hint: dagger call recover --env=test")
	p.run("recover").must(t, run.Done).says(t, "openstack_compute_keypair_v2.operator was in flight (create), and it exists in the cloud")
	p.run("apply").must(t, run.Done)
	if pairs := string(c.call(http.MethodGet, "/compute/v2.1/os-keypairs", "", http.StatusOK)); strings.Count(pairs, `"name":"operator"`) != 1 {
		t.Errorf("the cloud has %s", pairs)
	}
}

// The runner alone is killed, as for lack of memory: neither tofu nor a provider goes on, and recover finds
// what they had made.
func TestBlackBoxRunnerKilled(t *testing.T) {
	p := newProject(t, "")
	c, k := p.behindKiller()
	o := p.options("apply")
	cmd := p.program(o)
	testkit.Start(t, cmd)
	working := 0
	k.arm(0, func() {
		working = len(processes(o.Work, "provider"))
		_ = cmd.Process.Kill()
	})
	if err := cmd.Wait(); err == nil || working == 0 {
		t.Fatalf("the apply ended with %v, beside %d providers", err, working)
	}
	soon.Wait(t, "tofu and its provider end", func() bool { return len(tofus(o.Work))+len(processes(o.Work, "provider")) == 0 })
	k.arm(0, nil)
	p.run("recover", dead).must(t, run.Done)
	p.run("apply").must(t, run.Done)
	if pairs := string(c.call(http.MethodGet, "/compute/v2.1/os-keypairs", "", http.StatusOK)); strings.Count(pairs, `"name":"operator"`) != 1 {
		t.Errorf("the cloud has %s", pairs)
	}
}

// From a checkout without the code, nothing can be imported: all of it stays recorded.
func TestBlackBoxRecoverFromWrongCheckout(t *testing.T) {
	trace := filepath.Join(testkit.ForTools(t), "trace")
	slow, release := waiting(t)
	p := newProject(t, traced(9, trace, "0.1")+slow)
	p.run("bootstrap").must(t, run.Done)
	p.runWhile("apply", func(o call) { killTofu(t, o, trace, 9) }).must(t, run.Failed)
	release()
	code, err := os.ReadFile(filepath.Join(p.dir, "environments/test/main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("environments/test/main.tf", "terraform {\n  backend \"s3\" {}\n}\n")
	p.run("recover").must(t, run.Failed).says(t, "cannot account for 10 of the resources that were or may have been created")
	p.run("apply").must(t, run.BadInput).says(t, "was interrupted")
	p.write("environments/test/main.tf", string(code))
	p.run("recover", accounted("terraform_data.slow")).must(t, run.Done)
	p.run("apply").must(t, run.Done)
	countTraces(t, trace, 9, nil)
}

// recover is killed at random instants: the next one goes on from there.
func TestBlackBoxRecoverKilled(t *testing.T) {
	testkit.Deep(t, "it kills at random moments")
	trace := filepath.Join(testkit.ForTools(t), "trace")
	slow, release := waiting(t)
	p := newProject(t, traced(6, trace, "0.1")+slow)
	p.run("bootstrap").must(t, run.Done)
	p.runWhile("apply", func(o call) { killTofu(t, o, trace, 6) }).must(t, run.Failed)
	release()
	for _, instant := range []time.Duration{300, 1500, 3000, 4500} {
		cmd := p.start(p.options("recover"), io.Discard)
		time.Sleep(instant * time.Millisecond) //nolint:forbidigo // it kills at random moments
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Errorf("recover ended within %d ms, and was not killed", instant)
		}
		p.run("apply", dead).must(t, run.BadInput).says(t, "was interrupted")
	}
	p.run("recover", dead, accounted("terraform_data.slow")).must(t, run.Done)
	p.run("recover").must(t, run.Done).says(t, "nothing was interrupted")
	p.run("unlock").must(t, run.Done).says(t, "not locked")
	p.run("apply").must(t, run.Done)
	countTraces(t, trace, 6, nil)
}

// While a recover works, its lock and its journal keep applies and others of its kind out,
// also when the store has hung for a while.
func TestBlackBoxRecoverIsAlone(t *testing.T) {
	trace := filepath.Join(testkit.ForTools(t), "trace")
	slow, release := waiting(t)
	p := newProject(t, traced(3, trace, "0.1")+slow)
	p.run("bootstrap").must(t, run.Done)
	p.runWhile("apply", func(o call) { killTofu(t, o, trace, 3) }).must(t, run.Failed)
	release()
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.store.failing(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/test/test.tfstate") {
			once.Do(func() { close(reached); <-goOn })
		}
		return false
	})
	first := make(chan ended, 1)
	go func() { first <- p.run("recover", accounted("terraform_data.slow")) }()
	select {
	case <-reached:
	case e := <-first:
		t.Fatalf("recover ended before it wrote the state:\n%s%s", e.stdout, e.stderr)
	}
	for stage, says := range map[string]string{"apply": "is in use by", "recover": "is alive", "unlock": "is alive", "destroy": "is in use by"} {
		p.run(stage, confirm).must(t, run.BadInput).says(t, says, "(recover, started")
	}
	close(goOn)
	(<-first).must(t, run.Done)
	p.run("apply").must(t, run.Done)
	countTraces(t, trace, 3, nil)
}

// If no journal contains a lock, it is not known whether its holder is dead, even beside a run that
// was killed on a host of the same name.
func TestBlackBoxForeignLock(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	const key = "test/test.tfstate"
	p.object("journal/"+key+"/dead/alive", "x")
	p.object("journal/test/test/old/alive", "x")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	foreign := state.Lock{ID: "laptop-1", Operation: "OperationTypeApply", Who: "root@" + host, Created: time.Now()}
	if other, err := p.bucket().Lock(t.Context(), key, foreign); err != nil || other != nil {
		t.Fatal(other, err)
	}
	for _, stage := range []string{"unlock", "recover"} {
		p.run(stage, dead).must(t, run.BadInput).says(t, "it is not known whether root@"+host+" is dead", "--lock-id=laptop-1")
	}
	p.run("unlock", func(o *call) { o.add("--lock-id=laptop-2") }).must(t, run.BadInput).says(t, `--lock-id is "laptop-2", but the lock's ID is laptop-1`)
	p.run("apply").must(t, run.BadInput).says(t, "locked by root@"+host)
	if lock, err := p.bucket().ReadLock(t.Context(), key); err != nil || lock == nil || lock.ID != "laptop-1" {
		t.Fatalf("the lock is %v, %v", lock, err)
	}
	p.run("unlock", func(o *call) { o.add("--lock-id=laptop-1") }).must(t, run.Done)
	p.run("apply").must(t, run.Done)
}

// A run whose signs the store does not take stops tofu gently, before others take it for
// dead; one whose lock another has taken kills it, so that it writes over nothing.
func TestBlackBoxSilentRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(p *project) func(http.ResponseWriter, *http.Request, http.Handler) bool
		says  string
	}{
		"no signs": {func(*project) func(http.ResponseWriter, *http.Request, http.Handler) bool {
			return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				if strings.HasSuffix(r.URL.Path, "/alive") {
					w.WriteHeader(http.StatusForbidden)
					return true
				}
				return false
			}
		}, "others will soon consider this run dead"},
		"deposed": {func(p *project) func(http.ResponseWriter, *http.Request, http.Handler) bool {
			return func(_ http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
				if isLock(http.MethodGet)(r) {
					r.URL.Path += "2"
				}
				return false
			}
		}, "another run has taken this run's lock"},
	} {
		t.Run(name, func(t *testing.T) {
			slow, _ := waiting(t)
			p := newProject(t, slow)
			p.run("bootstrap").must(t, run.Done)
			p.object("test/test.tfstate.tflock2", `{"ID":"other","Who":"somebody"}`)
			e := p.runWhile("apply", func(o call) {
				o.when(t, "the apply works", func() bool { return len(tofus(o.Work)) > 0 && p.isLocked() }, func() { p.store.failing(c.fault(p)) })
			}, func(o *call) { o.Beat = journal.Beat{Every: 500 * time.Millisecond, GiveUp: 5 * time.Second} })
			p.store.failing(nil)
			e.must(t, run.Failed).says(t, c.says)
		})
	}
}

func (p *project) isLocked() bool {
	lock, err := p.bucket().ReadLock(p.t.Context(), "test/test.tfstate")
	return err == nil && lock != nil
}
