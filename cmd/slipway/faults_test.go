//go:build blackbox

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"filippo.io/age"

	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

const one = `resource "terraform_data" "one" { input = "one" }`

// aHost is one that an apply would wait for if it had a key.
const aHost = `
output "ansible_inventory" {
  value = { host = "192.0.2.1", user = "debian", port = 22, known_hosts = "192.0.2.1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4mvDc2K7t3DQmfCLzVOQIyXn5aZmtYpHqYk8Zl0b1C" }
}
`

// Each case that a stage must refuse before any tool starts, with its sentence
// and its hint.
func TestBlackBoxRefuses(t *testing.T) {
	t.Parallel()
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(p *project)
		option func(o *call)
		code   int
		says   []string
	}{
		"a wrong passphrase": {
			change: func(p *project) { p.secret["STATE_PASSPHRASE"] = "another-passphrase-of-length-2nD7wG4sJx9T"; p.seal() },
			code:   run.BadInput, says: []string{"STATE_PASSPHRASE in the credentials of test is not the passphrase that encrypts its state", "hint: git log -p -- credentials/test.enc.env"},
		},
		"a weak passphrase": {
			change: func(p *project) { p.secret["STATE_PASSPHRASE"] = "short"; p.seal() },
			code:   run.BadInput, says: []string{"STATE_PASSPHRASE has 5 characters"},
		},
		"no key to the bucket": {
			change: func(p *project) { delete(p.secret, "AWS_SECRET_ACCESS_KEY"); p.seal() },
			code:   run.BadInput, says: []string{"have no AWS_SECRET_ACCESS_KEY", "hint: dagger call secrets set --file=credentials/test.enc.env --variable=AWS_SECRET_ACCESS_KEY"},
		},
		"no age identity": {
			option: func(o *call) { o.IdentityFile = "/nonexistent" },
			code:   run.BadInput, says: []string{"no age identity was given", "AGEKEY=file://"},
		},
		"a foreign recipient": {
			change: func(p *project) { p.file(p.identity, other.String()) },
			code:   run.BadInput, says: []string{"credentials/test.enc.env is encrypted to age1", "ask one of its readers"},
		},
		"credentials that were changed by hand": {
			change: func(p *project) {
				data, _ := os.ReadFile(filepath.Join(p.dir, "credentials/test.enc.env"))
				p.write("credentials/test.enc.env", strings.Replace(string(data), "STATE_PASSPHRASE=ENC[AES256_GCM,data:", "STATE_PASSPHRASE=ENC[AES256_GCM,data:AA", 1))
			},
			code: run.BadInput, says: []string{"it was changed without sops"},
		},
		"credentials that are not there": {
			change: func(p *project) {
				if err := os.Remove(filepath.Join(p.dir, "credentials/test.enc.env")); err != nil {
					p.t.Fatal(err)
				}
			},
			code: run.BadInput, says: []string{"there is no file credentials/test.enc.env", "hint: dagger call secrets init --file=credentials/test.enc.env"},
		},
		"credentials that are still to be set": {
			change: func(p *project) {
				p.write("credentials/test.enc.env.example", "STATE_PASSPHRASE=<random>\nOS_PASSWORD=\nOS_USERNAME=\n")
			},
			code: run.BadInput, says: []string{"credentials/test.enc.env has no OS_PASSWORD, OS_USERNAME", "hint: dagger call secrets set --file=credentials/test.enc.env --variable=OS_PASSWORD"},
		},
		"credentials in plain text": {
			change: func(p *project) { p.write("credentials/test.enc.env", "PASSWORD=canary-in-plain-text\n") },
			code:   run.BadInput, says: []string{"credentials/test.enc.env is not encrypted", "sops --encrypt --in-place"},
		},
		"an unknown environment": {
			option: func(o *call) { o.Env = "tset" },
			code:   run.BadInput, says: []string{`there is no environment "tset"`, `did you mean "test"?`},
		},
		"an unreachable store": {
			change: func(p *project) {
				p.write("environments/test/environment.yaml", "credentials: [test]\nstate:\n  s3: {bucket: slipway-test, region: us-east-1, endpoint: \"http://127.0.0.1:9\"}\n")
			},
			code: run.Failed, says: []string{"bucket slipway-test at 127.0.0.1:9", "connection refused"},
		},
		"a truncated state": {
			change: func(p *project) { p.put("test/test.tfstate", func(old []byte) []byte { return old[:len(old)/2] }) },
			code:   run.BadInput, says: []string{"the state test/test.tfstate in bucket slipway-test", "is damaged", "earlier version"},
		},
		"a state in plain text": {
			change: func(p *project) {
				p.put("test/test.tfstate", func([]byte) []byte { return []byte(`{"version":4,"serial":9,"lineage":"x"}`) })
			},
			code: run.BadInput, says: []string{"is not encrypted"},
		},
		"the bucket of another environment": {
			change: func(p *project) {
				p.put("test/environment.json", func(old []byte) []byte { return bytes.Replace(old, []byte(`"test"`), []byte(`"prod"`), 1) })
			},
			code: run.BadInput, says: []string{`belongs to environment "prod"`},
		},
		"a link out of the repository": {
			change: func(p *project) {
				if err := os.Symlink("/etc", filepath.Join(p.dir, "etc")); err != nil {
					p.t.Fatal(err)
				}
			},
			code: run.BadInput, says: []string{"etc is a symbolic link that leads out of the repository"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, one)
			p.run("bootstrap").must(t, run.Done)
			p.run("apply").must(t, run.Done)
			before := p.get("test/test.tfstate")
			if c.change != nil {
				c.change(p)
				before = p.get("test/test.tfstate")
			}
			if c.option == nil {
				c.option = func(*call) {}
			}
			for _, stage := range []string{"plan", "apply", "destroy"} {
				e := p.run(stage, confirm, c.option).must(t, c.code).says(t, c.says...)
				if strings.Contains(e.stdout+e.stderr, "canary") {
					t.Errorf("it shows a secret:\n%s", e.stderr)
				}
				for _, timing := range e.result.Timings {
					if timing.Step != "open" {
						t.Errorf("%s starts a tool: %v", stage, e.result.Timings)
					}
				}
			}
			if !bytes.Equal(before, p.get("test/test.tfstate")) {
				t.Error("the state was changed")
			}
		})
	}
}

// bucket is the store as another client sees it.
func (p *project) bucket() *state.Store {
	return state.Open(state.S3{Bucket: "slipway-test", Endpoint: p.store.URL, Region: "us-east-1", AccessKey: "x", SecretKey: "y"})
}

func (p *project) get(key string) []byte {
	p.t.Helper()
	data, err := p.bucket().Read(p.t.Context(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

// object writes one to the store.
func (p *project) object(key, text string) {
	p.t.Helper()
	if err := p.bucket().Write(p.t.Context(), key, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

// put changes an object in the store.
func (p *project) put(key string, change func(old []byte) []byte) {
	p.t.Helper()
	if err := p.bucket().Write(p.t.Context(), key, change(p.get(key))); err != nil {
		p.t.Fatal(err)
	}
}

// waiting is code of a resource whose creation takes until release is called.
func waiting(t *testing.T) (code string, release func()) {
	t.Helper()
	gate := filepath.Join(testkit.ForTools(t), "gate")
	code = fmt.Sprintf(`
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "until [ -e %s ]; do sleep 0.1; done"
  }
}
`, gate)
	return code, func() {
		if err := os.WriteFile(gate, nil, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// Of two applies at once, one proceeds, and the other names it.
func TestBlackBoxTwoApplies(t *testing.T) {
	code, release := waiting(t)
	p := newProject(t, code)
	p.run("bootstrap").must(t, run.Done)
	var group sync.WaitGroup
	first := make(chan ended, 1)
	group.Go(func() { first <- p.run("apply", func(o *call) { o.ID = "the-first" }) })
	soon.Wait(t, "the first has its lock", p.isLocked)
	second := p.run("apply").must(t, run.BadInput).says(t, "the state of test is in use by run the-first (apply, started", "hint: dagger call unlock --env=test")
	p.run("unlock").must(t, run.BadInput).says(t, "locked by", "run the-first (apply, started", "is alive")
	p.run("recover").must(t, run.BadInput).says(t, "is alive")
	p.run("plan").must(t, run.Changes).says(t, "note: run the-first")
	release()
	group.Wait()
	(<-first).must(t, run.Done)
	if second.result.Layers[0].Applied {
		t.Error("both applied")
	}
	p.run("plan").must(t, run.Done)
}

// Two that begin at the same instant are kept apart by OpenTofu's lock.
func TestBlackBoxTwoAppliesTogether(t *testing.T) {
	code, release := waiting(t)
	p := newProject(t, code)
	p.run("bootstrap").must(t, run.Done)
	var group sync.WaitGroup
	results := make([]ended, 2)
	for i := range results {
		o := p.options("apply")
		group.Go(func() {
			results[i] = p.run("apply", func(r *call) { *r = o })
			release() // the one that is refused ends first
		})
	}
	group.Wait()
	applied := 0
	for _, e := range results {
		if e.code == run.Done && e.result.Layers[0].Applied {
			applied++
			continue
		}
		e.must(t, run.BadInput).says(t, "the state of test is")
	}
	if applied != 1 {
		t.Errorf("%d of two applied", applied)
	}
	p.run("apply").must(t, run.Done).says(t, "No changes")
}

// once has f handle the first request that matches.
func once(match func(*http.Request) bool, f func(http.ResponseWriter, *http.Request, http.Handler) bool) (fault func(http.ResponseWriter, *http.Request, http.Handler) bool, happened *bool) {
	var lock sync.Mutex
	happened = new(bool)
	return func(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
		lock.Lock()
		first := !*happened && match(r)
		*happened = *happened || first
		lock.Unlock()
		return first && f(w, r, s3)
	}, happened
}

func isLock(method string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.HasSuffix(r.URL.Path, "/test/test.tfstate.tflock")
	}
}

// The answer to the write of the lock is lost: the lock is ours by its ID.
func TestBlackBoxLostLockAnswer(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	fault, happened := once(isLock(http.MethodPut), drop)
	p.store.failing(fault)
	p.run("apply").must(t, run.Done)
	if !*happened {
		t.Fatal("no answer was lost")
	}
	p.run("unlock").must(t, run.Done).says(t, "not locked")
	p.run("apply").must(t, run.Done).says(t, "No changes")
}

// The lock cannot be given back: what was applied is applied, and nobody is
// locked out.
func TestBlackBoxLostUnlock(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	failures := 0
	p.store.failing(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !isLock(http.MethodDelete)(r) || failures > 4 {
			return false
		}
		failures++
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	p.run("apply").must(t, run.Done)
	if failures == 0 {
		t.Fatal("no unlock failed")
	}
	p.run("unlock").must(t, run.Done).says(t, "not locked")
	p.run("apply").must(t, run.Done).says(t, "No changes")
}

// The store takes everything but the state: what was made is sealed, and recover
// puts it back, from the store's copy and, where that is missing, from /out.
func TestBlackBoxLostState(t *testing.T) {
	t.Parallel()
	for name, takesCopy := range map[string]bool{"with a copy in the store": true, "with the result only": false} {
		t.Run(name, func(t *testing.T) {
			trace := filepath.Join(testkit.ForTools(t), "trace")
			p := newProject(t, traced(3, trace, "0"))
			p.run("bootstrap").must(t, run.Done)
			p.store.failing(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				lost := strings.HasSuffix(r.URL.Path, "/test/test.tfstate") || !takesCopy && strings.Contains(r.URL.Path, "/recovery/")
				if r.Method != http.MethodPut || !lost {
					return false
				}
				w.WriteHeader(http.StatusInternalServerError)
				return true
			})
			e := p.run("apply").must(t, run.Failed).says(t, "could not be written", "dagger call recover --env=test")
			sealed, err := os.ReadFile(filepath.Join(e.out, "recovery", "test.tfstate.age"))
			if err != nil || !bytes.HasPrefix(sealed, []byte("age-encryption.org/v1")) {
				t.Fatalf("what is in recovery/ is not sealed: %v", err)
			}
			p.store.failing(nil)
			p.run("apply").must(t, run.BadInput).says(t, "was interrupted", "hint: dagger call recover --env=test")
			from := func(o *call) {
				dead(o)
				if !takesCopy {
					o.add("--from=" + e.out)
				}
			}
			p.run("recover", from).must(t, run.Done).says(t, "as the state, serial")
			p.run("recover", from).must(t, run.Done)
			p.run("plan").must(t, run.Done)
			countTraces(t, trace, 3, nil)
		})
	}
}

// If tofu has no room even for the file, it prints the state, and that is saved.
func TestBlackBoxStateToldOnly(t *testing.T) {
	trace := filepath.Join(testkit.ForTools(t), "trace")
	p := newProject(t, traced(2, trace, "0")+`
resource "terraform_data" "in_the_way" {
  provisioner "local-exec" {
    command = "mkdir errored.tfstate"
  }
}
`)
	p.run("bootstrap").must(t, run.Done)
	p.store.failing(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/test/test.tfstate") {
			return false
		}
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	p.run("apply").must(t, run.Failed).says(t, "an encrypted copy is in recovery/test.tfstate.age")
	p.store.failing(nil)
	p.run("recover").must(t, run.Done).says(t, "as the state, serial")
	p.run("plan").must(t, run.Done)
	countTraces(t, trace, 2, nil)
}

// A tmpfs without room refuses, and nothing is changed.
func TestBlackBoxFullWork(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only root can mount a tmpfs: make test runs as root")
	}
	p := newProject(t, one)
	p.run("up").must(t, run.Done)
	p.write("environments/test/large", strings.Repeat("x", 2<<20))
	work := testkit.ForTools(t)
	if err := syscall.Mount("tmpfs", work, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(work, 0); err != nil {
			t.Error(err)
		}
	})
	before := p.get("test/test.tfstate")
	p.run("apply", func(o *call) { o.Work = work }).must(t, run.Failed).says(t, "is full: nothing was changed")
	if !bytes.Equal(before, p.get("test/test.tfstate")) {
		t.Error("the state was changed")
	}
}

// A store that ignores the condition of a write cannot be used for locks: bootstrap
// refuses it, and no stage works on it.
func TestBlackBoxUnsafeStore(t *testing.T) {
	p := newProject(t, one)
	p.store.failing(func(w http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
		r.Header.Del("If-None-Match")
		s3.ServeHTTP(w, r)
		return true
	})
	p.run("bootstrap").must(t, run.BadInput).says(t, "cannot be used for locks: it let", "hint: set state.http")
	p.run("up").must(t, run.BadInput).says(t, "cannot be used for locks")
	p.run("apply").must(t, run.BadInput).says(t, "has not been prepared")
}
