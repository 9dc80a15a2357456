//go:build e2e && bench

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway/internal/state"
	"slipway/internal/tofu"
)

const rounds = 7

// median runs f several times and returns the middle duration.
func median(f func()) time.Duration {
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
	c := newCheckout(t)
	c.call(t, "up", "--env=local").must(t)
	c.call(t, "plan", "--env=local").must(t)

	load := median(func() { runIn(t, c.dir, nil, "dagger", "-m", c.module, "functions").must(t) })
	container := median(func() { c.call(t, "environments").must(t) })
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
				cmd := exec.Command(filepath.Join(repository, ".slipway", "bin", "tofu"), args...)
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

	fmt.Printf("dagger functions (module load)              %6.2f s\n", load.Seconds())
	fmt.Printf("dagger call environments (and a container)  %6.2f s\n", container.Seconds())
	fmt.Printf("tofu init, plan, show: without encryption   %6.2f s\n", plain.Seconds())
	fmt.Printf("tofu init, plan, show: with it              %6.2f s, so %.2f s of key derivation\n", tools.Seconds(), (tools - plain).Seconds())
	fmt.Printf("dagger call plan --env=local, warm          %6.2f s = 1.25 × the bare tools + %.2f s\n", call.Seconds(), call.Seconds()-1.25*tools.Seconds())
	if limit := tools*5/4 + 1500*time.Millisecond; call > limit {
		t.Errorf("a warm plan takes %s, more than 1.25 × the bare tools + 1.5 s = %s", call, limit)
	}
}

// TestBenchFirst measures the first call on an engine whose store is empty, with
// the images at hand, the stage runner's too.
func TestBenchFirst(t *testing.T) {
	e := newSpareEngine(t)
	e.engine(t, "up").must(t)
	c := newCheckout(t)
	port := ""
	for _, variable := range e.env {
		if value, ok := strings.CutPrefix(variable, "SLIPWAY_REGISTRY_PORT="); ok {
			port = value
		}
	}
	begin := time.Now()
	published := runIn(t, c.dir, []string{e.host()}, "dagger", append(c.args(t), "runner", "publish", "--address=127.0.0.1:"+port+"/slipway/runner:bench")...).must(t)
	fmt.Printf("building and publishing the stage runner    %6.2f s, with empty caches\n", time.Since(begin).Seconds())

	// The registry is empty after each start of the engine: push the images again.
	registry, kept := filepath.Join(e.cache, "registry"), filepath.Join(e.cache, "kept")
	run(t, "cp", "-a", registry, kept).must(t)
	e.engine(t, "down").must(t)
	if err := os.RemoveAll(filepath.Join(e.cache, "store")); err != nil {
		t.Fatal(err)
	}
	e.engine(t, "up").must(t)
	run(t, "cp", "-a", kept+"/.", registry).must(t)
	pins, err := os.ReadFile(pinsInUse(t))
	if err != nil {
		t.Fatal(err)
	}
	withRunner := filepath.Join(t.TempDir(), "pins.env")
	c.file(t, withRunner, string(pins)+"RUNNER="+strings.TrimSpace(published.stdout)+"\n")
	call := func(function, says string) time.Duration {
		begin := time.Now()
		args := append(c.args(t), "--pins="+withRunner, function, "--env=local")
		runIn(t, c.dir, []string{e.host()}, "dagger", args...).must(t).says(t, says)
		return time.Since(begin)
	}
	first := call("bootstrap", "created bucket")
	fmt.Printf("the first call on an empty store: bootstrap %6.2f s\n", first.Seconds())
	fmt.Printf("then plan                                   %6.2f s\n", call("plan", "22 to create").Seconds())
	fmt.Printf("then up, which installs a server's packages %6.2f s\n", call("up", "22 to create").Seconds())
	if first > 30*time.Second {
		t.Errorf("the first call takes %s, more than 30 s", first)
	}
}
