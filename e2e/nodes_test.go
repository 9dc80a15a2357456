//go:build e2e

package e2e

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"slipway/internal/secrets"
	"slipway/internal/testkit"
)

// nodes are those of environment cluster-local.
var nodes = []string{"cp-1", "worker-1"}

// node switches a node of this machine.
func node(t *testing.T, verb, name string) result {
	t.Helper()
	return run(t, filepath.Join(repository, ".slipway/engine"), "node", verb, name)
}

// needNodes switches the nodes on with empty disks, and off in the end. It skips where they are not built.
func needNodes(t *testing.T, names ...string) {
	t.Helper()
	needOwnEngine(t)
	for _, name := range names {
		node(t, "wipe", name).must(t)
		t.Cleanup(func() { node(t, "wipe", name).must(t) })
	}
	for _, name := range names {
		r := node(t, "on", name)
		if strings.Contains(r.stderr, "the nodes are not built") {
			t.Skip("NOT RUN: the Talos nodes are not built: make cluster")
		}
		r.must(t)
	}
}

// kubectl runs the one that was built with the nodes, in their network.
func kubectl(t *testing.T, kubeconfig string, args ...string) result {
	t.Helper()
	program := glob(t, filepath.Join(cacheDir(t), "products/kubernetes-*/kubectl"))
	return run(t, "nsenter", append([]string{"--net=" + engineNetwork(t), program[0], "--kubeconfig=" + kubeconfig}, args...)...)
}

// newClusterCheckout makes a checkout with environment cluster-local, its credentials, and the secrets of its machines. It has no
// Flux.
func newClusterCheckout(t *testing.T) *checkout {
	t.Helper()
	c := newCheckout(t)
	const env = "cluster-local"
	if err := os.CopyFS(filepath.Join(c.dir, "environments", env), os.DirFS(filepath.Join(repository, "environments", env))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(c.dir, "environments", env, "flux.yaml")); err != nil {
		t.Fatal(err)
	}
	c.sealCluster(t)
	c.call(t, "cluster", "secrets", "--env="+env).must(t)
	return c
}

// sealCluster writes the credentials of environment cluster-local.
func (c *checkout) sealCluster(t *testing.T) {
	t.Helper()
	var err error
	if c.flux, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	sealed, err := secrets.Seal("credentials/cluster-local.enc.env", map[string]string{
		"AWS_ACCESS_KEY_ID": "access-key", "AWS_SECRET_ACCESS_KEY": "secret-key-of-the-tests", "STATE_PASSPHRASE": "passphrase-of-the-tests-1234-Kq7Zt2Vn9Xb4Rm",
		"FLUX_AGE_KEY": c.flux.String(),
	}, []string{c.key.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	c.file(t, filepath.Join(c.dir, "credentials/cluster-local.enc.env"), string(sealed))
}

// newRepository makes a checkout that is the whole repository, and in which a user's shell needs no flags.
func newRepository(t *testing.T) *checkout {
	t.Helper()
	c := newCheckout(t)
	copyRepository(t, c.dir)
	c.file(t, filepath.Join(c.dir, ".sops.yaml"), "creation_rules:\n  - path_regex: ^credentials/\n    age: "+c.key.Recipient().String()+"\n")
	c.file(t, filepath.Join(c.dir, ".env"), "AGEKEY=file://"+c.identity+"\nPINS="+pinsInUse(t)+"\nLOCALDATA="+c.data+"\n")
	c.shell(t, "git init -q && git add -A && git -c user.name=test -c user.email=test@example.org commit -qm begin").must(t)
	return c
}

// shell runs a line of a user's shell in the checkout.
func (c *checkout) shell(t *testing.T, command string, env ...string) result {
	t.Helper()
	return runIn(t, c.dir, append([]string{"DAGGER_PROGRESS=plain"}, env...), "bash", "-c", command)
}

// Real Talos nodes, from empty disks to a cluster in which Flux has decrypted a Secret and released a chart; again, nothing changes.
func TestNodes(t *testing.T) {
	testkit.Deep(t, "it boots real Talos nodes with Kubernetes")
	needNodes(t, nodes...)
	c := newClusterCheckout(t)
	const env, canary = "cluster-local", "canary-that-flux-decrypts"
	f := c.newFleet(t)
	f.write(t, "secret.yaml", f.seal(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: hello, namespace: hello}\nstringData: {password: "+canary+"}\n"))
	f.push(t)
	t.Log(c.call(t, "up", "--env="+env).must(t).says(t, "cluster    2 changed", "health     2 ready", "flux       ").stdout)
	t.Log(c.call(t, "up", "--env="+env).must(t).says(t, "cluster    no change", "health     2 ready", "flux       no change").stdout)
	c.call(t, "cluster", "health", "--env="+env).must(t)
	c.call(t, "cluster", "status", "--env="+env).must(t).says(t, "cp-1", "v1.14.1  ready", "leader", "as wanted")
	c.call(t, "drift", "--env="+env).must(t).says(t, "cluster-local: matches its code")

	tool := func(name, args string) result {
		t.Helper()
		return c.call(t, "cluster", name, "--env="+env, "--args="+args)
	}
	tool("kubectl", "get,nodes").must(t).says(t, "cp-1", "worker-1", " Ready ")
	tool("kubectl", "create,configmap,greeting,--from-literal=text=hello").must(t).says(t, "configmap/greeting created")
	tool("kubectl", "get,configmap,greeting,-o,jsonpath={.data.text}").must(t).says(t, "hello")
	tool("kubectl", "get,configmap,other").refuses(t, `configmaps "other" not found`)
	tool("talosctl", "-n,cp-1,version").must(t).says(t, "Tag:         v1.14.1")
	tool("talosctl", "-n,cp-1,upgrade").refuses(t)
	tool("talosctl", "-n,cp-1,reboot").refuses(t, "not supported in container mode")
	tool("helm", "list,-A").must(t).says(t, "NAMESPACE")
	tool("kubectl", "get,secret,hello,-n,hello,-o,jsonpath={.data.password}").must(t).says(t, base64.StdEncoding.EncodeToString([]byte(canary)))
	tool("kubectl", "get,deployment,hello,-n,hello").must(t).says(t, "1/1")
	c.call(t, "flux", "status", "--env="+env).must(t).says(t, "HelmRelease    hello/hello              0.1.0", "cluster-local: 4 ready, 0 not ready, 0 waiting, 0 suspended")

	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	c.file(t, kubeconfig, c.call(t, "cluster", "kubeconfig", "--env="+env, "plaintext").must(t).stdout)
	for _, name := range nodes {
		kubectl(t, kubeconfig, "get", "node", name).must(t).says(t, " Ready ")
	}
}

// A real node keeps the promises that the simulated machines keep.
func TestContractOfNode(t *testing.T) {
	testkit.Deep(t, "it boots a real Talos node")
	needNodes(t, "cp-9")
	run(t, "go", "test", "-exec=nsenter --net="+engineNetwork(t), "-tags=nodes", "-count=1", "-v", "-run=^TestContractOfNode$", "./internal/talosapi").must(t).says(t, "--- PASS: TestContractOfNode")
}

// The guide to a cluster on this machine, line by line as it is written.
func TestGuideOfNodes(t *testing.T) {
	testkit.Deep(t, "it boots real Talos nodes with Kubernetes")
	needNodes(t, "cp-1", "worker-1", "worker-2")
	for _, name := range []string{"cp-1", "worker-1", "worker-2"} {
		node(t, "wipe", name).must(t) // none is on before `make cluster`
	}
	c := newRepository(t)
	text, err := os.ReadFile(filepath.Join(c.dir, "docs/cluster-local.md"))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, block := range consoleBlocks(string(text)) {
		for _, line := range linesOf(block) {
			command, _, _ := strings.Cut(line.command, "  #")
			c.shell(t, command).must(t).says(t, line.prints...)
			tried++
		}
	}
	if tried < 10 {
		t.Errorf("the guide has %d commands", tried)
	}
	c.shell(t, "dagger call up --env=cluster-local").must(t).says(t, "no change")
}
