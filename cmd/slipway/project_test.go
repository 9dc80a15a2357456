//go:build blackbox

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
	"slipway/internal/testkit/calls"
	"slipway/internal/testkit/soon"
)

// TestMain runs a stage instead of the tests where a test asks for it by
// inAnotherProcess.
func TestMain(m *testing.M) {
	if text := os.Getenv("SLIPWAY_TEST_STAGE"); text != "" {
		var o call
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			log.Fatal(err)
		}
		o.Stdout, o.Stderr = os.Stdout, os.Stderr
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := o.main(ctx)
		stop()
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "connect" { // as ssh's ProxyCommand
		os.Exit(start(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A fake is an S3 store in this process whose faults a test chooses.
type fake struct {
	URL   string
	fault atomic.Pointer[func(http.ResponseWriter, *http.Request, http.Handler) bool]
}

func newFake(t *testing.T) *fake {
	t.Helper()
	s3 := gofakes3.New(s3mem.New()).Server()
	f := &fake{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := f.fault.Load(); fault != nil && (*fault)(w, r, s3) {
			return
		}
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

// failing makes the store fail requests: f reports whether it responded to one. nil ends that.
func (f *fake) failing(fault func(http.ResponseWriter, *http.Request, http.Handler) bool) {
	if fault == nil {
		f.fault.Store(nil)
		return
	}
	f.fault.Store(&fault)
}

// drop handles the request and breaks the connection instead of answering.
func drop(_ http.ResponseWriter, r *http.Request, s3 http.Handler) bool {
	s3.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// A project is a repository with one environment, test.
type project struct {
	t        *testing.T
	dir      string
	identity string // file
	key      *age.X25519Identity
	store    *fake
	secret   map[string]string
	runs     int

	providers string // mirror for tofu; empty: built-in ones only
}

const passphrase = "a-passphrase-for-tests-7Hq2v9-Zx81mKqW"

// newProject makes one. The test then runs beside others: most of its time goes
// into waiting.
func newProject(t *testing.T, code string) *project {
	t.Helper()
	t.Parallel()
	if _, err := exec.LookPath("tofu"); err != nil {
		t.Fatal("tofu is not in PATH: make test puts it there")
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: t.TempDir(), key: key, store: newFake(t), secret: map[string]string{
		"AWS_ACCESS_KEY_ID": "access-key-for-tests", "AWS_SECRET_ACCESS_KEY": "secret-key-for-tests", "STATE_PASSPHRASE": passphrase,
	}}
	p.identity = filepath.Join(t.TempDir(), "keys.txt")
	p.file(p.identity, "# created: now\n"+key.String()+"\n")
	p.write("environments/test/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"+code)
	p.write("environments/test/environment.yaml", fmt.Sprintf("credentials: [test]\nallow: {programs: [local-exec, external], providers: [acme/tiny]}\nstate:\n  s3: {bucket: slipway-test, region: us-east-1, endpoint: %q}\n", p.store.URL))
	p.write(".sops.yaml", "creation_rules:\n  - path_regex: ^credentials/\n    age: "+key.Recipient().String()+"\n")
	p.seal()
	return p
}

// reader opens what is sealed to the environment's readers.
func (p *project) reader() secrets.Identity {
	p.t.Helper()
	identity, err := secrets.ParseIdentity(p.key.String())
	if err != nil {
		p.t.Fatal(err)
	}
	return identity
}

func (p *project) file(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) write(name, text string) { p.t.Helper(); p.file(filepath.Join(p.dir, name), text) }

// seal writes the credentials.
func (p *project) seal() {
	p.t.Helper()
	data, err := secrets.Seal("credentials/test.enc.env", p.secret, []string{p.key.Recipient().String()})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("credentials/test.enc.env", string(data))
}

// An ended stage.
type ended struct {
	code           int
	stdout, stderr string
	out            string // folder
	result         run.Result
}

// A call is one of a command.
type call struct {
	run.Options
	Stage string
	Flags []string        // of the command
	over  <-chan struct{} // closed when it has ended; only of runWhile
	stop  func()          // stops it; only of runWhile
}

// when runs do as soon as happened is true. If the command ends before, that is an error.
func (o call) when(t *testing.T, what string, happened func() bool, do func()) {
	t.Helper()
	over := false
	soon.Wait(t, what, func() bool {
		select {
		case <-o.over:
			over = true
		default:
		}
		return happened() || over
	})
	if over {
		t.Errorf("%s ended before this happened: %s", o.Stage, what)
		return
	}
	do()
}

func (o *call) add(flag string) { o.Flags = append(o.Flags, flag) }

// main calls the command as the program does.
func (o call) main(ctx context.Context) int {
	c, ok := find(o.Stage)
	if !ok {
		panic("there is no command " + o.Stage)
	}
	args := append(o.Flags, "--run-id="+o.ID, "--repo="+o.Repository, "--work="+o.Work, "--out="+o.Out, "--identity="+o.IdentityFile, "--pins="+o.PinsFile, "--deadline="+o.Deadline.String())
	if o.Env != "" && (c.Opens != run.Nothing || slices.Contains([]string{"validate", "lock-providers", "cluster-secrets"}, c.Name)) {
		args = append(args, "--env="+o.Env)
	}
	if o.OnlyLayer != "" {
		args = append(args, "--layer="+o.OnlyLayer)
	}
	if o.Args != nil {
		args = append(append(args, "--"), o.Args...)
	}
	if err := c.Parse(args, &o.Options); err != nil {
		panic(err)
	}
	return run.Main(ctx, c, o.Options)
}

func (p *project) options(stage string) call {
	p.runs++
	work := testkit.ForTools(p.t)
	if p.providers != "" {
		// OpenTofu looks for providers below HOME.
		if err := os.CopyFS(filepath.Join(work, "home/.terraform.d/plugins"), os.DirFS(p.providers)); err != nil {
			p.t.Fatal(err)
		}
	}
	return call{Stage: stage, Options: run.Options{
		Env: "test", ID: fmt.Sprintf("run%02d", p.runs),
		Repository: p.dir, Work: work, Out: p.t.TempDir(), IdentityFile: p.identity,
		Deadline: 5 * time.Minute,
	}}
}

// run runs a stage in this process.
func (p *project) run(stage string, change ...func(*call)) ended {
	p.t.Helper()
	return p.runContext(p.t.Context(), stage, change...)
}

// runWhile runs a stage in this process while f runs beside it. f can stop it.
func (p *project) runWhile(stage string, f func(call), change ...func(*call)) ended {
	p.t.Helper()
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(p.t.Context())
	defer stop()
	over := make(chan struct{})
	defer close(over)
	return p.runContext(ctx, stage, append(change, func(o *call) {
		chosen := *o
		chosen.over, chosen.stop = over, stop
		group.Go(func() { f(chosen) })
	})...)
}

func (p *project) runContext(ctx context.Context, stage string, change ...func(*call)) ended {
	p.t.Helper()
	o := p.options(stage)
	for _, f := range change {
		f(&o)
	}
	var stdout, stderr bytes.Buffer
	o.Stdout, o.Stderr = &stdout, &stderr
	e := ended{code: o.main(ctx), out: o.Out}
	e.stdout, e.stderr = stdout.String(), stderr.String()
	data, err := os.ReadFile(filepath.Join(o.Out, "result.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &e.result); err != nil {
		p.t.Fatal(err)
	}
	if err := calls.Check(e.result.Hint); err != nil {
		p.t.Errorf("the hint cannot be followed: %v", err)
	}
	if e.result.ExitCode != e.code {
		p.t.Fatalf("the exit code is %d, and the result says %d", e.code, e.result.ExitCode)
	}
	return e
}

// start runs a stage in another process, the first of a process namespace:
// when it is killed, so is all that it started, as in a container.
func (p *project) start(o call, output io.Writer) *exec.Cmd {
	p.t.Helper()
	cmd := p.program(o)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	testkit.Start(p.t, cmd)
	return cmd
}

// program is a process for a stage.
func (p *project) program(o call) *exec.Cmd {
	p.t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_STAGE="+string(text))
	return cmd
}

// must fails the test unless the stage ended with that code.
func (e ended) must(t *testing.T, code int) ended {
	t.Helper()
	if e.code != code {
		t.Fatalf("exit code %d, not %d\n%s%s", e.code, code, e.stdout, e.stderr)
	}
	return e
}

// says fails the test unless all texts are in what the stage printed.
func (e ended) says(t *testing.T, texts ...string) ended {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(e.stdout+e.stderr, text) {
			t.Errorf("it does not say %q:\n%s%s", text, e.stdout, e.stderr)
		}
	}
	return e
}

// protected has the environment take sealed plans only.
func (p *project) protected() {
	p.t.Helper()
	p.write("environments/test/environment.yaml", fmt.Sprintf("protected: true\ncredentials: [test]\nallow: {programs: [local-exec, external], providers: [acme/tiny]}\nstate:\n  s3: {bucket: slipway-test, region: us-east-1, endpoint: %q}\n", p.store.URL))
}

// keep, confirm and the rest are options.
func keep(o *call) { o.add("--keep") }

func reviewedPlan(o *call) { o.add("--reviewed") }

// seen passes the digest of a plan, as somebody does who has reviewed it.
func seen(e ended) func(*call) { return func(o *call) { o.add("--digest=" + e.result.Digest) } }

func planOf(e ended) func(*call) { return func(o *call) { o.add("--plan=" + e.out) } }

func allow(addresses string) func(*call) {
	return func(o *call) { o.add("--allow-destroy=" + addresses) }
}

func confirm(o *call) {
	if slices.Contains([]string{"destroy", "down", "stop"}, o.Stage) {
		o.add("--confirm=test")
	}
}
