package clusters_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	machine "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/talos"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// A run works on the cluster of its environment, if there is one, or on one layer.
func TestChosen(t *testing.T) {
	s := &site{desk: testkit.New(t)}
	s.desk.Repository = t.TempDir()
	chosen := func(layer string) bool {
		s.desk.OnlyLayer = layer
		return clusters.Chosen(s.desk.Run)
	}
	if chosen("") || chosen(cluster.FileName) {
		t.Error("there is none")
	}
	s.describes(t)
	if !chosen("") || !chosen(cluster.FileName) || chosen("net") {
		t.Error("it is not chosen, or one layer is")
	}
}

// described is a cluster.yaml of one control plane, or of the nodes that the layers list.
func described(listed bool) string {
	text := "name: home\ntalos: v1.14.1\nkubernetes: v1.35.0\nendpoint: https://10.0.0.11:6443\n"
	if listed {
		text += "nodes: [{name: a, address: 10.0.0.11, role: controlplane, disk: /dev/sda}]\n"
	}
	return text
}

// What a cluster needs is refused in this order: its file, the secrets of the machines, the key to them, the layers.
// Somebody who only compares does without the key.
func TestOpen(t *testing.T) {
	testkit.WithoutTofu(t)
	v := testkit.NewVault(t)
	must.Do(t, v.OpenCredentials())
	open := func() (*clusters.Cluster, error) { return clusters.Open(t.Context(), v.Run) }
	compare := func() (*clusters.Cluster, error) { return clusters.OpenToCompare(v.Run) }
	refused := func(message, hint string, ways ...func() (*clusters.Cluster, error)) {
		t.Helper()
		for _, way := range ways {
			_, err := way()
			must.Refuse(t, err, message, hint)
		}
	}
	refused("environment test has no cluster", "$EDITOR environments/test/cluster.yaml", open, compare)
	file := cluster.SecretsFile("test")
	for _, listed := range []bool{true, false} {
		v.Write(cluster.Path("test"), described(listed))
		must.Do(t, os.RemoveAll(filepath.Join(v.Repository, file)))
		refused("there is no file "+file+" with the secrets of the machines", "dagger call -y cluster secrets --env=test", open, compare)
	}
	v.Write(file, "canary")
	refused(file, "", open, compare)

	contract, err := talos.Contract("v1.14.1")
	must.Do(t, err)
	bundle, err := machine.NewBundle(machine.NewClock(), contract, machine.WithECDSAServiceAccountKey())
	must.Do(t, err)
	plain, err := talos.WriteSecrets(bundle)
	must.Do(t, err)
	seal := func(text []byte, recipient string) {
		t.Helper()
		sealed, err := secrets.SealDocument(file, text, []string{recipient})
		must.Do(t, err)
		v.Write(file, string(sealed))
	}
	seal(plain, testkit.NewAge(t).Recipient().String())
	refused(file, "", open)
	c, err := compare()
	if err != nil || c.Secrets != nil || c.Listed {
		t.Errorf("without the key: %v, %+v", err, c)
	}
	own := v.AgeKey.Recipient().String()
	seal([]byte("canary: x\n"), own)
	refused(file+" is not usable: it is not a file of", "git log -- "+file, open, compare)
	seal(plain, own)
	token := bundle.TrustdInfo.Token
	if v.Mask.String(token) != token {
		t.Error("the secrets are known before they are read")
	}
	_, err = open()
	must.NotStarted(t, err, "init")
	if v.Mask.String(token) != "***" {
		t.Error("the secrets are not masked")
	}
	if c, err = compare(); err != nil || c.Secrets == nil {
		t.Errorf("with the key: %v", err)
	}
	v.Write(cluster.Path("test"), described(true))
	if c, err = open(); err != nil || !c.Listed {
		t.Errorf("with its nodes in the file: %v", err)
	}
}

// What may not be meant is said, whether the file lists the nodes or a layer does.
func TestWarnings(t *testing.T) {
	const nodes = `[{"name": "a", "address": "10.0.0.11", "role": "controlplane", "disk": "/dev/sda"}, {"name": "b", "address": "10.0.0.12", "role": "controlplane", "disk": "/dev/sda"}, {"name": "c", "address": "10.0.0.13", "role": "controlplane", "disk": "/dev/sda"}]`
	const want = "note: endpoint is the address of a: if it fails"
	v := testkit.NewVault(t)
	must.Do(t, v.OpenCredentials())
	v.Write(cluster.Path("test"), described(false)+"nodes: "+nodes+"\n")
	_, err := clusters.Read(v.Run)
	must.Do(t, err)
	if !strings.Contains(strings.ToLower(v.Progress.String()), want) {
		t.Errorf("of the file it says %q", v.Progress)
	}
	v.Progress.Reset()
	v.Write(cluster.Path("test"), described(false))
	c, err := clusters.Read(v.Run)
	must.Do(t, err)
	l := testkit.New(t).Layer
	must.Do(t, c.Add(l, nil))
	if c.Listed || len(c.Spec.Nodes) > 0 {
		t.Errorf("nobody lists a node: %+v", c.Spec.Nodes)
	}
	must.Do(t, c.Add(l, tofu.Outputs{cluster.NodesOutput: {Value: []byte(nodes)}}))
	must.Do(t, c.Complete())
	if !strings.Contains(strings.ToLower(v.Progress.String()), want) || len(c.Spec.Nodes) != 3 {
		t.Errorf("of the layer it says %q", v.Progress)
	}
	err = c.Add(l, tofu.Outputs{cluster.NodesOutput: {Value: []byte(nodes), Sensitive: true}})
	must.Refuse(t, err, "the output talos_nodes of test is sensitive", "$EDITOR environments/test")
}

// A configuration that Talos would not accept is refused with the file in which it has to be changed. It can be written
// without the secrets of the machines.
func TestConfig(t *testing.T) {
	s := &site{desk: testkit.New(t)}
	s.desk.Repository = t.TempDir()
	node := cluster.Node{Name: "a", Address: "10.0.0.11", Role: cluster.ControlPlane, Disk: "/dev/sda"}
	spec := &cluster.Cluster{Name: "home", Talos: "v1.14.1", Kubernetes: "v1.34.1", Endpoint: "https://10.0.0.11:6443", Pods: []string{"10.244.0.0/16"}, Services: []string{"10.96.0.0/12"}, Nodes: []cluster.Node{node}}
	c := &clusters.Cluster{Run: s.desk.Run, Spec: spec}
	config, err := c.Config(node)
	must.Do(t, err)
	if config == nil || config.NetworkHostnameConfig().Hostname() != "a" {
		t.Errorf("got %v", config)
	}
	must.Do(t, c.Check())
	spec.Endpoint = "canary"
	_, err = c.Config(node)
	must.Refuse(t, err, "the configuration of a is not valid: ", "$EDITOR environments/test/cluster.yaml")
	spec.Endpoint = "https://10.0.0.11:6443"
	folder := filepath.Join(s.desk.Repository, "environments", "test")
	must.Do(t, os.MkdirAll(folder, 0o755))
	for name, patch := range map[string]string{"one.yaml": "machine: {sysctls: {a: b}}\n", "two.yaml": "canary: true\n"} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(patch), 0o600))
	}
	spec.Patches = []string{"one.yaml", "two.yaml"}
	_, err = c.Config(node)
	must.Refuse(t, err, "the configuration of a is not valid: ", "$EDITOR environments/test/two.yaml")
	must.Refuse(t, c.Check(), "the configuration of a is not valid: ", "$EDITOR environments/test/two.yaml")
	spec.Patches, spec.Talos = nil, "canary"
	_, err = c.Config(node)
	must.Fail(t, err, "canary")
}

// The state of an environment without a bucket has no lock for the nodes.
func TestNeedStore(t *testing.T) {
	c := &clusters.Cluster{Run: &run.Run{Options: run.Options{Env: "test"}}}
	must.Refuse(t, c.NeedStore(), "the state of test is not in a bucket", "$EDITOR environments/test/environment.yaml")
}
