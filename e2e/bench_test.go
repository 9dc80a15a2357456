//go:build e2e && bench

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"slipway/internal/state"
	"slipway/internal/tofu"
)

// rounds is how often each call is measured. One round, by SLIPWAY_BENCH_ROUNDS=1, shows that the bench runs;
// its limits need more.
func rounds(t *testing.T) int {
	t.Helper()
	n := 7
	if text := os.Getenv("SLIPWAY_BENCH_ROUNDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// median runs f several times and returns the middle duration.
func median(rounds int, f func()) time.Duration {
	var took []time.Duration
	for range rounds {
		begin := time.Now()
		f()
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[rounds/2]
}

// TestBenchWarm compares a warm `dagger call plan --env=local` with the bare tools
// on the same folder and the same state in the same store.
func TestBenchWarm(t *testing.T) {
	n := rounds(t)
	median := func(f func()) time.Duration { return median(n, f) }
	c := newCheckout(t)
	c.call(t, "bootstrap", "--env=local").must(t)
	c.call(t, "apply", "--env=local").must(t)
	c.call(t, "plan", "--env=local").must(t)

	smallest := newSmallestModule(t, c, nil, pinned(t, "DEBIAN"))
	load := median(func() { runIn(t, c.dir, nil, "dagger", "-m", c.module, "functions").must(t) })
	cached := median(func() { c.call(t, "environments").must(t) })
	alone := median(func() { runIn(t, smallest, nil, "dagger", "call", "exec").must(t) })
	service := median(func() { runIn(t, smallest, nil, "dagger", "call", "exec-with-service").must(t) })
	call := median(func() { c.call(t, "plan", "--env=local").must(t) })

	stop, port := c.serve(t)
	defer stop()
	bucket := state.S3{Bucket: "slipway-local", Endpoint: "http://127.0.0.1:" + port, Region: "us-east-1", AccessKey: "access-key", SecretKey: "secret-key-of-the-tests"}
	encryption, err := state.Encryption("passphrase-of-the-tests-1234-Kq7Zt2Vn9Xb4Rm", "")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, ".terraform.d/plugins"), os.DirFS(filepath.Join(repository, ".slipway/providers"))); err != nil {
		t.Fatal(err)
	}
	// The clouds have another address out here.
	clouds := "http://127.0.0.1:" + port + "/-"
	env := append(bucket.Environment(), "PATH="+filepath.Join(repository, ".slipway", "bin")+":"+os.Getenv("PATH"), "HOME="+home,
		"TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1",
		"OS_AUTH_URL="+clouds+"/openstack/identity/v3/", "OS_REGION_NAME=sim1", "OS_TENANT_NAME=slipway", "OS_USER_DOMAIN_NAME=Default", "OS_USERNAME=cloud-user", "OS_PASSWORD=x",
		"OVH_ENDPOINT="+clouds+"/ovh", "OVH_APPLICATION_KEY=ovh-key", "OVH_APPLICATION_SECRET=cloudsim-application-secret", "OVH_CONSUMER_KEY=x",
		"TF_VAR_ssh_public_key="+c.hostPublic, "TF_VAR_host_key="+c.host, "TF_VAR_host_key_public="+c.hostPublic)
	dir := filepath.Join(c.dir, "environments/local")
	saved := filepath.Join(t.TempDir(), "plan")
	bare := func(env []string, init []string) time.Duration {
		return median(func() {
			if err := os.RemoveAll(filepath.Join(dir, ".terraform")); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{init, tofu.Plan{Out: saved}.Args(), tofu.ShowPlanArgs(saved)} {
				cmd := exec.CommandContext(t.Context(), filepath.Join(repository, ".slipway", "bin", "tofu"), args...)
				cmd.Dir, cmd.Env = dir, env
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != tofu.ExitChanges {
					t.Fatalf("tofu %s: %v\n%s", args[0], err, out.String())
				}
			}
		})
	}
	tools := bare(append(env, "TF_ENCRYPTION="+encryption), tofu.Init{Backend: bucket.Backend("local/local.tfstate")}.Args())
	plain := bare(env, tofu.Init{Backend: bucket.Backend("local/plain.tfstate")}.Args())

	fmt.Printf("dagger functions (module load)                  %6.2f s\n", load.Seconds())
	fmt.Printf("dagger call environments, from the cache        %6.2f s\n", cached.Seconds())
	fmt.Printf("the smallest module: one exec                   %6.2f s\n", alone.Seconds())
	fmt.Printf("the smallest module: one exec and a service     %6.2f s\n", service.Seconds())
	fmt.Printf("tofu init, plan, show: without encryption       %6.2f s\n", plain.Seconds())
	fmt.Printf("tofu init, plan, show: with it                  %6.2f s, so %.2f s of key derivation\n", tools.Seconds(), (tools - plain).Seconds())
	own := call - tools*11/10
	fmt.Printf("dagger call plan --env=local, warm              %6.2f s = 1.1 × the bare tools + %.2f s\n", call.Seconds(), own.Seconds())
	// What Dagger needs for any module's call is measured beside it.
	if limit := service + 300*time.Millisecond; own > limit && n > 1 {
		t.Errorf("a warm plan takes %.2f s more than 1.1 × the bare tools, and the smallest module's call %.2f s", own.Seconds(), service.Seconds())
	}
}

// newSmallestModule is a Dagger module whose functions run one command each, on nothing. It is
// what a call costs before Slipway does anything.
func newSmallestModule(t *testing.T, c *checkout, env []string, debian string) string {
	t.Helper()
	dir := t.TempDir()
	runIn(t, dir, nil, "git", "init", "-q").must(t)
	c.file(t, filepath.Join(dir, "LICENSE"), "none\n") // else Dagger fetches one
	runIn(t, dir, env, "dagger", "init", "--sdk=go", "--name=smallest", "--source=.").must(t)
	c.file(t, filepath.Join(dir, "main.go"), fmt.Sprintf(`package main

import (
	"context"
	"crypto/rand"

	"dagger/smallest/internal/dagger"
)

type Smallest struct{}

func debian() *dagger.Container { return dag.Container().From(%q) }

// +cache="never"
func (*Smallest) Exec(ctx context.Context) (string, error) {
	return debian().WithExec([]string{"echo", rand.Text()}).Stdout(ctx)
}

// +cache="never"
func (*Smallest) ExecWithService(
	ctx context.Context,
	// +optional
	checkout *dagger.Directory,
) (string, error) {
	service := debian().
		WithNewFile("/serve.pl", "use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => 9000, Listen => 5, ReuseAddr => 1) or die; while (my $c = $s->accept) { close $c }").
		WithExposedPort(9000).
		AsService(dagger.ContainerAsServiceOpts{Args: []string{"perl", "/serve.pl"}})
	container := debian().WithServiceBinding("service", service)
	if checkout != nil {
		container = container.WithMountedDirectory("/repo", checkout)
	}
	return container.WithExec([]string{"echo", rand.Text()}).Stdout(ctx)
}
`, debian))
	runIn(t, dir, env, "dagger", "--progress=plain", "develop").must(t)
	return dir
}

// TestBenchFirst measures the first call on an engine whose store is empty, with
// the images at hand, the stage runner's too, beside that of the smallest module.
//
// The store is in memory: on a disk that is shared, the same call takes up to four times as long as the one before.
func TestBenchFirst(t *testing.T) {
	e := newSpareEngine(t)
	store := filepath.Join(e.cache, "store")
	run(t, "mkdir", store).must(t)
	run(t, "mount", "-t", "tmpfs", "slipway-bench", store).must(t)
	t.Cleanup(func() {
		e.engine(t, "down").must(t)
		run(t, "umount", store).must(t)
	})
	e.engine(t, "up").must(t)
	c := newCheckout(t)
	smallest := newSmallestModule(t, c, []string{e.host()}, e.pinned(t, "DEBIAN"))
	begin := time.Now()
	published := e.publishRunner(t, c)
	fmt.Printf("building and publishing the stage runner    %6.2f s, with empty caches\n", time.Since(begin).Seconds())

	registry, kept := filepath.Join(e.cache, "registry"), filepath.Join(e.cache, "kept")
	run(t, "cp", "-a", registry, kept).must(t)
	pins, err := os.ReadFile(filepath.Join(e.checkout, ".slipway", "pins.env"))
	if err != nil {
		t.Fatal(err)
	}
	withRunner := filepath.Join(t.TempDir(), "pins.env")
	c.file(t, withRunner, string(pins)+"RUNNER="+published+"\n")
	empty := func() {
		e.engine(t, "down").must(t)
		run(t, "find", store, "-mindepth", "1", "-delete").must(t)
		e.engine(t, "up").must(t)
		// The registry is empty after each start of the engine: push the images again.
		run(t, "cp", "-a", kept+"/.", registry).must(t)
	}
	timed := func(dir string, args ...string) result {
		t.Helper()
		return runIn(t, dir, []string{e.host()}, "dagger", args...).must(t)
	}
	call := func(function, says string) time.Duration {
		begin := time.Now()
		timed(c.dir, append(c.args(t), "--pins="+withRunner, function, "--env=local")...).says(t, says)
		return time.Since(begin)
	}
	var first, least []time.Duration
	n := min(rounds(t), 3)
	for range n {
		empty()
		begin := time.Now()
		timed(smallest, "call", "exec-with-service")
		least = append(least, time.Since(begin))
		empty()
		first = append(first, call("bootstrap", "created bucket"))
	}
	slices.Sort(first)
	slices.Sort(least)
	ratio := first[n/2].Seconds() / least[n/2].Seconds()
	fmt.Printf("the first call on an empty store: smallest  %6.2f s\n", least[n/2].Seconds())
	fmt.Printf("the first call on an empty store: bootstrap %6.2f s, %.2f × that\n", first[n/2].Seconds(), ratio)
	fmt.Printf("then plan                                   %6.2f s\n", call("plan", "22 to create").Seconds())
	fmt.Printf("then apply, which installs a server's packages %6.2f s\n", call("apply", "22 to create").Seconds())
	if ratio > 1.5 && n > 1 {
		t.Errorf("the first call takes %.2f × that of the smallest module, more than 1.5", ratio)
	}
}

// publishRunner puts the stage runner's image into the spare engine's registry and returns its
// reference. That registry takes pushes on a socket only, which Dagger cannot push to.
func (e spareEngine) publishRunner(t *testing.T, c *checkout) string {
	t.Helper()
	layout := t.TempDir()
	archive := filepath.Join(layout, "runner.tar")
	runIn(t, c.dir, []string{e.host()}, "dagger", append(c.args(t), "runner", "export", "--path="+archive)...).must(t)
	run(t, "tar", "-xf", archive, "-C", layout).must(t)
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var images struct {
		Manifests []struct{ MediaType, Digest string }
	}
	if err := json.Unmarshal(read(filepath.Join(layout, "index.json")), &images); err != nil || len(images.Manifests) != 1 {
		t.Fatalf("%d images: %v", len(images.Manifests), err)
	}
	image := images.Manifests[0]
	blobs, err := filepath.Glob(filepath.Join(layout, "blobs/sha256/*"))
	if err != nil {
		t.Fatal(err)
	}
	const repository = "http://registry/v2/slipway/runner"
	for _, blob := range blobs {
		at := e.push(t, http.MethodPost, repository+"/blobs/uploads/", "", nil)
		query := at.Query()
		query.Set("digest", "sha256:"+filepath.Base(blob))
		at.RawQuery = query.Encode()
		e.push(t, http.MethodPut, at.String(), "application/octet-stream", read(blob))
	}
	e.push(t, http.MethodPut, repository+"/manifests/bench", image.MediaType, read(filepath.Join(layout, "blobs", strings.Replace(image.Digest, ":", "/", 1))))
	// The engine looks for it in its mirror of docker.io, which is this registry.
	return "docker.io/slipway/runner:bench@" + image.Digest
}

// push sends one request to the registry's socket, and returns the location in its response.
func (e spareEngine) push(t *testing.T, method, address, mediaType string, body []byte) *url.URL {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", mediaType)
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(e.run, "push", "registry.sock"))
	}}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, address, response.Status)
	}
	at, err := response.Location()
	if err != nil {
		t.Fatal(err)
	}
	return at
}
