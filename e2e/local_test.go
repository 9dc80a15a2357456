//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"slipway/internal/secrets"
	"slipway/internal/talos"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// A checkout is a copy of what a team has: environment local with its modules and
// credentials, an age identity outside of it, and a simulated cloud of its own.
type checkout struct {
	dir, identity, data string
	module              string // the Slipway module that is called
	key                 *age.X25519Identity
	flux                *age.X25519Identity // of environment cluster-local
	host, hostPublic    string              // SSH keys of the backend
}

// newSSHKey makes a key pair as `secrets init` does.
func newSSHKey(t *testing.T) (private, public string) {
	t.Helper()
	publicKey, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(publicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line)))
}

// newCheckout makes one. The test then runs beside others, after those that want
// the machine for themselves.
func newCheckout(t *testing.T) *checkout {
	t.Helper()
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	c := &checkout{dir: t.TempDir(), identity: filepath.Join(t.TempDir(), "keys.txt"), data: "slipway-e2e-" + rand.Text(), module: repository, key: key}
	c.file(t, c.identity, key.String()+"\n")
	for _, folder := range []string{"environments/local", "modules", "ansible"} {
		if err := os.CopyFS(filepath.Join(c.dir, folder), os.DirFS(filepath.Join(repository, folder))); err != nil {
			t.Fatal(err)
		}
	}
	c.file(t, filepath.Join(c.dir, ".sops.yaml"), "creation_rules:\n  - path_regex: ^credentials/\n    age: "+key.Recipient().String()+"\n")
	private, public := newSSHKey(t)
	c.host, c.hostPublic = private, public
	c.seal(t, nil)
	return c
}

func (c *checkout) file(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// seal writes the credentials: more, and what every stage needs. Without the key to
// the hosts, nobody waits for them.
func (c *checkout) seal(t *testing.T, more map[string]string) {
	t.Helper()
	values := map[string]string{
		"AWS_ACCESS_KEY_ID": "access-key", "AWS_SECRET_ACCESS_KEY": "secret-key-of-the-tests", "STATE_PASSPHRASE": "passphrase-of-the-tests-1234-Kq7Zt2Vn9Xb4Rm",
		"OS_AUTH_URL": "http://cloudsim:9000/-/openstack/identity/v3/", "OS_REGION_NAME": "sim1", "OS_TENANT_NAME": "slipway", "OS_USER_DOMAIN_NAME": "Default",
		"OS_USERNAME": "cloud-user", "OS_PASSWORD": "openstack-password-of-the-tests",
		"OVH_ENDPOINT": "http://cloudsim:9000/-/ovh", "OVH_APPLICATION_KEY": "ovh-key", "OVH_APPLICATION_SECRET": "cloudsim-application-secret", "OVH_CONSUMER_KEY": "ovh-consumer-key-of-the-tests",
		"TF_VAR_ssh_public_key": c.hostPublic, "TF_VAR_host_key": c.host, "TF_VAR_host_key_public": c.hostPublic,
	}
	for name, value := range more {
		values[name] = value
	}
	sealed, err := secrets.Seal("credentials/local.enc.env", values, []string{c.key.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	c.file(t, filepath.Join(c.dir, "credentials/local.enc.env"), string(sealed))
}

// change replaces a text in a file of the checkout.
func (c *checkout) change(t *testing.T, name, old, by string) {
	t.Helper()
	path := filepath.Join(c.dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), old, by, 1)
	if changed == string(text) {
		t.Fatalf("%s has no %s", name, old)
	}
	c.file(t, path, changed)
}

// args are those of `dagger` up to the function.
func (c *checkout) args(t *testing.T) []string {
	return []string{"--progress=plain", "-m", c.module, "call", "-y",
		"--source=" + c.dir, "--age-key=file://" + c.identity, "--pins=" + pinsInUse(t), "--local-data=" + c.data}
}

func (c *checkout) call(t *testing.T, args ...string) result {
	t.Helper()
	return runIn(t, c.dir, nil, "dagger", append(c.args(t), args...)...)
}

// says fails the test unless all texts are in the command's output.
func (r result) says(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout, text) {
			t.Errorf("it does not say %q: %s\n%s\n%s", text, r.ending(), r.stdout, r.stderr)
		}
	}
	return r
}

// refuses fails the test unless the command failed and all texts are in its error.
func (r result) refuses(t *testing.T, texts ...string) {
	t.Helper()
	if r.code == 0 {
		t.Errorf("it does not fail:\n%s", r.stdout)
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("it does not say %q: %s\n%s", text, r.ending(), r.stderr)
		}
	}
}

// A span is the time that a call took.
type span struct {
	name       string
	begin, end time.Time
}

// serve has the simulated cloud of the checkout answer on a port of this machine
// until stop is called.
func (c *checkout) serve(t *testing.T) (stop func(), port string) {
	t.Helper()
	port = strconv.Itoa(freePort(t))
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "dagger", append(c.args(t), "cloudsim", "up", "--ports="+port+":9000")...)
	cmd.Dir = c.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var log bytes.Buffer
	cmd.Stderr = &log
	testkit.Start(t, cmd)
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	soon.Wait(t, "the simulated cloud answers", func() bool {
		select {
		case <-ended:
			t.Fatalf("the simulated cloud does not answer:\n%s", log.String())
		default:
		}
		response, err := http.Get("http://127.0.0.1:" + port + "/-/requests")
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil
	})
	return stop, port
}

// requests returns what the simulated cloud was asked, from its own log.
func (c *checkout) requests(t *testing.T) []logLine {
	t.Helper()
	stop, port := c.serve(t)
	defer stop()
	response, err := http.Get("http://127.0.0.1:" + port + "/-/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var lines []logLine
	for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
		var line logLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

type logLine struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
}

// opened counts how often within a span the environment's marker was read, which
// every stage does.
func opened(lines []logLine, s span) int {
	n := 0
	for _, line := range lines {
		if line.Method == http.MethodGet && strings.HasSuffix(line.Path, "/local/environment.json") && line.Time.After(s.begin) && line.Time.Before(s.end) {
			n++
		}
	}
	return n
}

// TestLocal takes environment local through its life by the module's functions,
// each called twice in a row, and counts in the simulated cloud how often each
// really ran.
func TestLocal(t *testing.T) {
	c := newCheckout(t)
	var spans []span
	twice := func(texts [2]string, args ...string) {
		t.Helper()
		for _, text := range texts {
			s := span{name: args[0], begin: time.Now()}
			c.call(t, append(args, "--env=local")...).must(t).says(t, text)
			s.end = time.Now()
			spans = append(spans, s)
		}
	}
	c.call(t, "plan", "--env=local").refuses(t, "has not been prepared for environment local", "hint: dagger call bootstrap --env=local")
	twice([2]string{"created bucket", "already exists"}, "bootstrap")
	twice([2]string{"22 to create", "22 to create"}, "plan")
	twice([2]string{"22 to create", "No changes"}, "apply")
	twice([2]string{"database_uris = (sensitive)", `"name":"local.example.org","private_ip":"10.1.0.`}, "output")
	twice([2]string{"module.backend.openstack_compute_instance_v2.host", `module.dns.ovh_domain_zone_record.address["AAAA"]`}, "state-list")
	twice([2]string{"local-backend     active  203.0.113.", "local-postgresql  ready "}, "status")
	twice([2]string{"local: matches its code", "local: matches its code"}, "drift")
	for range 2 {
		s := span{name: "plan-files", begin: time.Now()}
		folder := t.TempDir()
		c.call(t, "plan-files", "--env=local", "export", "--path="+folder).must(t)
		s.end = time.Now()
		spans = append(spans, s)
		for _, name := range []string{"plan/local/plan.age", "plan/local/manifest.json", "summary.json", "summary.md", "result.json"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Error(err)
			}
		}
	}
	twice([2]string{"not locked", "not locked"}, "unlock")
	twice([2]string{"nothing was interrupted", "nothing was interrupted"}, "recover")

	// A change of one setting is shown as exactly that.
	c.change(t, "environments/local/settings.tf", `"b3-8"`, `"b3-16"`)
	r := c.call(t, "plan", "--env=local").must(t).says(t, `Plan: 1 to update.`, "module.backend.openstack_compute_instance_v2.host\n        flavor_name: b3-8 → b3-16\n")
	if strings.Count(r.stdout, "→") != 1 || strings.Contains(r.stdout, "module.database") {
		t.Errorf("the plan shows more:\n%s", r.stdout)
	}

	c.describeCluster(t)
	c.login(t, "kubeconfig")

	c.call(t, "destroy", "--env=local").refuses(t, "destroy deletes everything in environment local", "hint: dagger call destroy --env=local --confirm=local")
	twice([2]string{"22 to delete", "No changes"}, "destroy", "--confirm=local")
	c.call(t, "state-list", "--env=local").must(t).says(t, "local: nothing")

	c.isEmpty(t)

	lines := c.requests(t)
	counts := map[string][]int{}
	for _, s := range spans {
		counts[s.name] = append(counts[s.name], opened(lines, s))
	}
	for name, n := range counts {
		if n[0] != 1 || n[1] != 1 {
			t.Errorf("%s was called twice and opened the environment %v times, not once each", name, n)
		}
	}
}

// TestReview applies an exported plan in a protected environment, which accepts
// nothing else, and destroys it with the list of its losses.
func TestReview(t *testing.T) {
	testkit.Deep(t, "it takes minutes")
	c := newCheckout(t)
	settings := filepath.Join(c.dir, "environments/local/environment.yaml")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	c.file(t, settings, string(text)+"protected: true\n")
	c.call(t, "bootstrap", "--env=local").must(t)
	c.call(t, "apply", "--env=local").refuses(t, "there is no plan of local in bucket slipway-local at cloudsim:9000 for exactly these files", "hint: dagger call plan --env=local --keep")
	plan := filepath.Join(t.TempDir(), "plan")
	c.call(t, "plan-files", "--env=local", "export", "--path="+plan).must(t)
	c.call(t, "report", "--plans="+filepath.Dir(plan), "--dry-run").refuses(t, "the summary of plan has a version that is not supported")
	plans := filepath.Join(t.TempDir(), "plans")
	run(t, "sh", "-c", "mkdir -p "+plans+" && cp -r "+plan+" "+plans+"/local").must(t)
	c.call(t, "report", "--plans="+plans, "--dry-run").must(t).says(t, "## Plans", "`local`: Plan: 22 to create.")

	more := filepath.Join(c.dir, "environments/local/more.tf")
	c.file(t, more, "")
	c.call(t, "apply", "--env=local", "--plan="+plan).refuses(t, "since the plan of local was made, a file of the repository has changed", "hint: dagger call plan-files --env=local export --path=.slipway/plan")
	if err := os.Remove(more); err != nil {
		t.Fatal(err)
	}
	c.call(t, "apply", "--env=local", "--plan="+plan).refuses(t, "environment local is protected, and --digest does not say which plan was reviewed")
	summary, err := os.ReadFile(filepath.Join(plan, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var seen struct{ Digest string }
	if err := json.Unmarshal(summary, &seen); err != nil {
		t.Fatal(err)
	}
	c.call(t, "apply", "--env=local", "--plan="+plan, "--digest="+seen.Digest).must(t).says(t, "the plan of run", "22 to create", "database_uris = (sensitive)")
	c.call(t, "apply", "--env=local", "--plan="+plan, "--digest="+seen.Digest).refuses(t, "was already started by run")

	refused := c.call(t, "destroy", "--env=local", "--confirm=local")
	refused.refuses(t, "hint: dagger call destroy --env=local --confirm=local --allow-destroy='")
	_, all, _ := strings.Cut(refused.stderr, "--allow-destroy='")
	all, _, _ = strings.Cut(all, "'")
	if n := strings.Count(all, ",") + 1; n != 22 {
		t.Errorf("the hint names %d resources: %s", n, all)
	}
	c.call(t, "destroy", "--env=local", "--confirm=local", "--allow-destroy="+all).must(t).says(t, "22 to delete")

	// An environment that is broken does not hide the others.
	c.file(t, filepath.Join(c.dir, "environments/broken/environment.yaml"), "state: {}\n")
	c.call(t, "drift").refuses(t, "broken: could not be checked", "local: does not match its code: 28 not applied yet")
}

// TestMakeUp is the newcomer's one command, in an empty checkout, and then again. It counts what the machine
// downloads, so no other test runs beside it.
func TestMakeUp(t *testing.T) {
	testkit.Deep(t, "it deploys a whole site, twice")
	needOwnEngine(t)
	dir := t.TempDir()
	run(t, "sh", "-c", "git ls-files -z | xargs -0 cp --parents -t "+dir).must(t)
	identity := filepath.Join(t.TempDir(), "age", "keys.txt")
	env := []string{"SOPS_AGE_KEY_FILE=" + identity}
	runIn(t, dir, env, "make", "up").must(t).says(t, "created bucket slipway-local", "Plan: 22 to create.", "database_uris = (sensitive)", "local-backend is up at 203.0.113.",
		"https: passed: https://local.example.org/ answers with 200", "flow: passed: 100 of 100 positions are in the database, each once", "dagger call open --env=local up --ports=8443:443")
	info, err := os.Stat(identity)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the age identity: %v, %v", info, err)
	}
	before, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	beforeAgain := received(t)
	runIn(t, dir, env, "make", "up").must(t).says(t, "No changes", "deploy     0 changed", "verify     2 passed")
	if got := received(t) - beforeAgain; got > 5_000_000 { // the smallest image has 30 MB
		t.Errorf("the second `make up` received %d bytes", got)
	}
	if after, err := os.ReadFile(identity); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the second up changes the age identity: %v", err)
	}
	// What the README says next.
	runIn(t, dir, nil, "sed", "-i", `s/"b3-8"/"b3-16"/`, "environments/local/settings.tf").must(t)
	call := func(args ...string) result {
		return runIn(t, dir, nil, "dagger", append([]string{"--progress=plain", "call"}, args...)...).must(t)
	}
	call("plan", "--env=local").says(t, "1 to update", "module.backend.openstack_compute_instance_v2.host\n        flavor_name: b3-8 → b3-16\n")
	call("apply", "--env=local")
	call("destroy", "--env=local", "--confirm=local").says(t, "22 to delete")
}

// received counts the bytes that came in by every interface but the loopback.
func received(t *testing.T) int {
	t.Helper()
	total := 0
	err := fs.WalkDir(os.DirFS("/sys/class/net"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." || name == "lo" {
			return err
		}
		data, err := os.ReadFile(filepath.Join("/sys/class/net", name, "statistics", "rx_bytes"))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(data)))
		total += n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// Without the run's own name, the engine would take the second call for the
// first. This shows that TestLocal would see it.
func TestWithoutNonce(t *testing.T) {
	testkit.Deep(t, "it builds the module again")
	c := newCheckout(t)
	c.module = t.TempDir()
	run(t, "sh", "-c", "git ls-files -z | xargs -0 cp --parents -t "+c.module).must(t)
	path := filepath.Join(c.module, "ci", "target.go")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(string(text), `"--run-id="+rand.Text()`, `"--run-id=always-the-same"`, 1)
	without = strings.Replace(without, "\t\"crypto/rand\"\n", "", 1)
	if without == string(text) {
		t.Fatal("there is no nonce to remove")
	}
	c.file(t, path, without)
	c.call(t, "bootstrap", "--env=local").must(t)
	var spans [2]span
	for i := range spans {
		spans[i].begin = time.Now()
		c.call(t, "plan", "--env=local").must(t)
		spans[i].end = time.Now()
	}
	lines := c.requests(t)
	if first, second := opened(lines, spans[0]), opened(lines, spans[1]); first != 1 || second != 0 {
		t.Errorf("the plans opened the environment %d and %d times: the nonce is not what makes them run", first, second)
	}
}

// Two applies at once on environment local: the second waits for the cloud of the
// first, and then finds nothing to do.
func TestLocalTwoAtOnce(t *testing.T) {
	testkit.Deep(t, "it waits for locks")
	c := newCheckout(t)
	c.call(t, "bootstrap", "--env=local").must(t)
	var results [2]result
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() { results[i] = c.call(t, "apply", "--env=local") })
	}
	group.Wait()
	created := 0
	for _, r := range results {
		r.must(t)
		if strings.Contains(r.stdout, "22 to create") {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d of two applies created", created)
	}
}

// allow has the code of environment local run what it otherwise may not.
func (c *checkout) allow(t *testing.T, what string) {
	t.Helper()
	path := filepath.Join(c.dir, "environments/local/environment.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.file(t, path, string(text)+"allow: {"+what+"}\n")
}

// Ctrl-C kills what runs in the engine at once. recover takes back what was made.
func TestLocalInterrupted(t *testing.T) {
	testkit.Deep(t, "it kills at random moments")
	c := newCheckout(t)
	for _, name := range []string{"main.tf", "outputs.tf"} {
		if err := os.Remove(filepath.Join(c.dir, "environments/local", name)); err != nil {
			t.Fatal(err)
		}
	}
	c.file(t, filepath.Join(c.dir, "environments/local/slow.tf"), `
resource "terraform_data" "slow" {
  count = 24
  provisioner "local-exec" {
    command = "sleep 2"
  }
}
`)
	c.allow(t, "programs: [local-exec]")
	c.call(t, "bootstrap", "--env=local").must(t)
	cmd := exec.CommandContext(t.Context(), "dagger", append(c.args(t), "apply", "--env=local")...)
	cmd.Dir = c.dir
	read, write := io.Pipe()
	cmd.Stderr = write
	testkit.Start(t, cmd)
	done := 0
	for scanner := bufio.NewScanner(read); scanner.Scan(); {
		if strings.Contains(scanner.Text(), "terraform_data.slow") && strings.Contains(scanner.Text(), "create done") {
			if done++; done == 12 {
				break
			}
		}
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the apply was not interrupted")
	}
	c.call(t, "recover", "--env=local").refuses(t, "is alive: its last heartbeat was")
	time.Sleep(65 * time.Second) //nolint:forbidigo // a run without a sign of life for a minute is dead
	c.call(t, "apply", "--env=local").refuses(t, "was interrupted", "hint: dagger call recover --env=local")
	// Of what was in flight, nobody can be asked: a person looks, and says so.
	r := c.call(t, "recover", "--env=local")
	r.refuses(t, "locked by slipway@", "importing it into the state", "was in flight (create)", "cannot account for")
	if n := strings.Count(r.stderr, "terraform_data.slow"); n < 12 {
		t.Errorf("recover knows of %d resources, and 12 were made:\n%s", n, r.stderr)
	}
	c.call(t, "apply", "--env=local").refuses(t, "was interrupted", "hint: dagger call recover --env=local")
	named := regexp.MustCompile(`--seen='([^']+)'`).FindStringSubmatch(r.stderr)
	if named == nil {
		t.Fatalf("no command says what was looked for:\n%s", r.stderr)
	}
	c.call(t, "recover", "--env=local", "--seen="+named[1]).must(t)
	c.call(t, "apply", "--env=local").must(t)
	c.call(t, "plan", "--env=local").must(t).says(t, "No changes")
}

// The repository's own environments and modules pass the checks, on the providers'
// real schemas, and a plan without credentials says which are missing.
func TestRepository(t *testing.T) {
	t.Parallel()
	dagger(t, "call", "environments").must(t).says(t, "prod           yes        missing")
	dagger(t, "call", "fmt").must(t)
	dagger(t, "call", "validate").must(t).says(t, "environments/local: valid", "environments/test: valid", "environments/preprod: valid", "environments/prod: valid")
	dagger(t, "call", "lint").must(t)
	dagger(t, "call", "test").must(t).says(t, "modules/compute: 39 passed, 0 failed", "modules/managed_db: 33 passed, 0 failed", "modules/dns_ovh: 16 passed, 0 failed")
	dagger(t, "call", "plan", "--env=test").refuses(t, "there are no files credentials/test.enc.env and credentials/test-plan.enc.env",
		"hint: dagger call secrets init --file=credentials/test.enc.env && dagger call secrets init --file=credentials/test-plan.enc.env")
}

// The checks need no secret.
func TestChecks(t *testing.T) {
	testkit.Deep(t, "it takes minutes")
	c := newCheckout(t)
	c.call(t, "environments").must(t).says(t, "local  no         there        local")
	c.call(t, "fmt").must(t).says(t, "every file is in the standard format")
	c.call(t, "validate").must(t).says(t, "environments/local: valid")
	c.call(t, "test").must(t).says(t, "modules/compute: ", "modules/managed_db: ", " passed, 0 failed")
	c.call(t, "lint").must(t).says(t, "tflint found no problems")
	c.file(t, filepath.Join(c.dir, "modules/small/main.tf"), "output \"name\" {\n  value = \"web\"\n}\n")
	c.file(t, filepath.Join(c.dir, "modules/small/tests/name.tftest.hcl"), `
run "right" {
  assert {
    condition     = output.name == "web"
    error_message = "The name is another."
  }
}

run "wrong" {
  assert {
    condition     = output.name == "db"
    error_message = "The name is another."
  }
}
`)
	c.call(t, "test").refuses(t, "modules/small: wrong fail", "modules/small: 1 passed, 1 failed")
	c.file(t, filepath.Join(c.dir, "environments/local/more.tf"), "locals {\n  a=1\n}\noutput \"b\" {\n  value = var.nothing\n}\n")
	c.call(t, "fmt").refuses(t, "more.tf")
	c.call(t, "lint").refuses(t, "tflint found problems", "local.a is declared but not used")
	c.call(t, "validate").refuses(t, "not valid: environments/local")
}

// The secrets' functions change files of the checkout, and those only.
func TestSecrets(t *testing.T) {
	c := newCheckout(t)
	file := filepath.Join(c.dir, "credentials/local.enc.env")
	open := func(path string) map[string]string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		identity, err := secrets.ParseIdentity(c.key.String())
		if err != nil {
			t.Fatal(err)
		}
		values, err := secrets.Decrypt(filepath.Base(path), data, identity)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	c.call(t, "secrets", "check").must(t).says(t, "the MAC is correct")
	runIn(t, c.dir, []string{"VALUE=a-new-value"}, "dagger", append(c.args(t), "secrets", "set", "--file=credentials/local.enc.env", "--variable=NEW", "--value=env://VALUE")...).must(t)
	if got := open(file)["NEW"]; got != "a-new-value" {
		t.Errorf("set leaves %q", got)
	}
	content := filepath.Join(t.TempDir(), "content")
	c.file(t, content, "NEW=newer\nONE=1\n")
	c.call(t, "secrets", "edit", "--file=local.enc.env", "--content=file://"+content).must(t)
	if got := open(file); got["NEW"] != "newer" || got["ONE"] != "1" {
		t.Errorf("edit leaves %q", got)
	}
	before, _ := os.ReadFile(file)
	c.call(t, "secrets", "rotate").must(t)
	if after, _ := os.ReadFile(file); bytes.Equal(before, after) {
		t.Error("rotate changes nothing")
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	// Dagger keeps the constructor's result, with the address of the key, and reads the file each time.
	c.file(t, c.identity, other.String()+"\n")
	c.call(t, "plan", "--env=local").refuses(t, "not to "+other.Recipient().String())
	c.file(t, c.identity, c.key.String()+"\n")
	c.file(t, filepath.Join(c.dir, ".sops.yaml"), "creation_rules:\n  - path_regex: ^credentials/\n    age: "+c.key.Recipient().String()+","+other.Recipient().String()+"\n")
	c.call(t, "secrets", "check").refuses(t, "and .sops.yaml names", "hint: dagger call secrets update-keys --file=credentials/local.enc.env")
	c.call(t, "secrets", "update-keys").must(t)
	c.call(t, "secrets", "check").must(t).says(t, other.Recipient().String())
	c.file(t, filepath.Join(c.dir, "credentials/new.enc.env.example"), "PASSWORD=<random>\nOPEN=\n")
	c.call(t, "secrets", "init", "--file=credentials/new.enc.env").must(t)
	if got := open(filepath.Join(c.dir, "credentials/new.enc.env"))["PASSWORD"]; len(got) < 40 {
		t.Errorf("init makes up %q", got)
	}
	if got := open(file); got["NEW"] != "newer" {
		t.Error("init changes another file")
	}
}

// describeCluster makes the secrets of a cluster, and shows its configuration and its plan. Its one node is not
// there. It returns what was printed.
func (c *checkout) describeCluster(t *testing.T) (all result) {
	t.Helper()
	call := func(args ...string) result {
		t.Helper()
		r := c.call(t, append([]string{"cluster"}, args...)...).must(t)
		all.stdout, all.stderr = all.stdout+r.stdout, all.stderr+r.stderr
		return r
	}
	c.file(t, filepath.Join(c.dir, "environments/local/cluster.yaml"), "name: home\ntalos: v1.14.1\nkubernetes: v1.35.0\nendpoint: https://127.0.0.1:6443\nnodes: [{name: a, address: 127.0.0.1, role: controlplane, disk: /dev/sda}]\n")
	call("secrets", "--env=local")
	if sealed, err := os.ReadFile(filepath.Join(c.dir, "credentials/local-talos.enc.yaml")); err != nil || !bytes.Contains(sealed, []byte("trustdinfo:\n    token: ENC[")) {
		t.Errorf("the secrets of the machines: %v\n%s", err, sealed)
	}
	call("config", "--env=local", "--node=a").says(t, "a (controlplane, 127.0.0.1)", "machine.token: (hidden)")
	call("plan", "--env=local").says(t, "cluster.yaml: Plan: 1 to create.", "a could not be asked: no apply is on record", "role: controlplane, address: 127.0.0.1, disk: /dev/sda")
	call("status", "--env=local").says(t, "silent (it cannot be reached)")
	return all
}

// login makes a kubeconfig or talosconfig, as its name says, and prints it. It returns a line of the private key in it.
func (c *checkout) login(t *testing.T, name string, global ...string) string {
	t.Helper()
	r := runIn(t, c.dir, nil, "dagger", append(append(global, c.args(t)...), "cluster", name, "--env=local", "--for=10m", "plaintext")...).must(t)
	found := regexp.MustCompile(`(?m)^ +(?:client-key-data|key): (\S+)$`).FindStringSubmatch(r.stdout)
	if found == nil {
		t.Fatalf("the %s has no key", name)
	}
	key, err := base64.StdEncoding.DecodeString(found[1])
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(key)
	if block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		t.Fatalf("the key of the %s is not one", name)
	}
	return strings.Split(string(key), "\n")[1]
}

// machineSecrets returns the secrets of the cluster's machines, and of a key with several lines one of them.
func (c *checkout) machineSecrets(t *testing.T) (values []string) {
	t.Helper()
	const name = "credentials/local-talos.enc.yaml"
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	identity, err := secrets.ParseIdentity(c.key.String())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := secrets.OpenDocument(name, data, identity)
	if err != nil {
		t.Fatal(err)
	}
	contract, err := talos.Contract("v1.14.1")
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := talos.ReadSecrets(plain, contract)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range talos.SecretsOf(bundle) {
		if lines := strings.Split(value, "\n"); len(lines) > 2 {
			value = lines[1]
		}
		if value != "" {
			values = append(values, value)
		}
	}
	if len(values) < 9 {
		t.Errorf("%d secrets of the machines", len(values))
	}
	return values
}

// TestCanaries looks through the whole store of the engine for the secrets that
// every function has used.
func TestCanaries(t *testing.T) {
	testkit.Deep(t, "it searches the engine's whole store")
	c := newCheckout(t)
	line, multi, bucket, born := canary("line"), "-----BEGIN-----\n"+canary("multi")+"\n\"quoted\" & odd\n", canary("bucket"), canary("state")
	value, passphrase := canary("set"), canary("passphrase")
	c.file(t, filepath.Join(c.dir, "environments/local/canary.tf"), `
variable "multi" {}
variable "admin_password" { sensitive = true }
variable "reversed" { sensitive = true }
variable "fail" { default = "" }
resource "terraform_data" "open" { input = var.multi }
resource "terraform_data" "born" { input = strrev(var.reversed) }
resource "terraform_data" "fails" {
  count = var.fail == "" ? 0 : 1
  provisioner "local-exec" {
    command     = "echo $SECRET; exit 1"
    environment = { SECRET = nonsensitive("${var.admin_password} ${var.multi} ${terraform_data.born.output}") }
  }
}
`)
	c.allow(t, "programs: [local-exec]")
	reversed := []rune(born)
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	set := map[string]string{"TF_VAR_admin_password": line, "TF_VAR_multi": multi, "AWS_SECRET_ACCESS_KEY": bucket, "TF_VAR_reversed": string(reversed), "STATE_PASSPHRASE": passphrase}
	c.seal(t, set)
	var output strings.Builder
	keep := func(r result) result { output.WriteString(r.stdout + r.stderr); return r }
	for _, function := range []string{"bootstrap", "plan", "apply", "output", "state-list", "drift", "status", "unlock", "recover"} {
		keep(c.call(t, function, "--env=local").must(t))
	}
	keep(c.call(t, "secrets", "check").must(t))
	keep(c.call(t, "plan-files", "--env=local", "--keep", "export", "--path="+filepath.Join(t.TempDir(), "local")).must(t))
	keep(c.call(t, "apply", "--env=local", "--reviewed").must(t))
	set["TF_VAR_fail"] = "yes"
	c.seal(t, set)
	keep(c.call(t, "apply", "--env=local")).refuses(t, "failed")
	keep(runIn(t, c.dir, []string{"VALUE=" + value}, "dagger", append(c.args(t), "secrets", "set", "--file=credentials/local.enc.env", "--variable=NEW", "--value=env://VALUE")...).must(t))
	delete(set, "TF_VAR_fail")
	c.seal(t, set)
	keep(c.describeCluster(t))
	for _, function := range []string{"secrets", "config", "plan", "status"} {
		keep(runIn(t, c.dir, nil, "dagger", append(append([]string{"--debug"}, c.args(t)...), "--log=debug", "cluster", function, "--env=local")...).must(t))
	}
	keys := []string{c.login(t, "kubeconfig"), c.login(t, "talosconfig", "--debug")}
	keep(c.call(t, "cluster", "kubeconfig", "--env=local", "--for=200h", "plaintext")).refuses(t, `--for is "200h"`, "hint: (umask 077; dagger call cluster kubeconfig")
	keep(c.call(t, "destroy", "--env=local", "--confirm=local").must(t))

	multiLine := strings.Split(multi, "\n")[1]
	used := []string{line, multiLine, bucket, born, string(reversed), value, passphrase, c.key.String()}
	used = append(used, c.machineSecrets(t)...)
	for _, secret := range shownSecrets(output.String(), used) {
		t.Errorf("the console shows %q", secret)
	}
	t.Run("store", func(t *testing.T) {
		for secret, files := range storedSecrets(t, append(used, keys...)) {
			t.Errorf("the engine's store holds %q: %q", secret, files)
		}
	})
}
