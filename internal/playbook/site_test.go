package playbook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh/agent"

	"slipway/internal/ansible"
	"slipway/internal/environment"
	"slipway/internal/inventory"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
	"slipway/internal/testkit/bastion"
	"slipway/internal/tofu"
)

// withHost is a desk whose layer has created the host gate, and the outputs of the layer.
func withHost(t *testing.T) (*Site, *testkit.Desk, tofu.Outputs) {
	t.Helper()
	s, d := onDesk(t)
	d.Repository = t.TempDir()
	d.Environment.Deploy = &environment.Deploy{Playbook: "site.yml"}
	d.Environment.CredentialFiles = []string{"test.enc.env"}
	gate := bastion.New(t)
	d.Credentials = map[string]string{secrets.OperatorKey: gate.PEM, "ANSIBLE_VAR_token": "canary", "TOKEN": "other"}
	outputs := gate.Outputs(t)
	outputs[inventory.VariablesOutput] = tofu.Output{Value: json.RawMessage(`{"colour": "red"}`)}
	return s, d, outputs
}

// A site has the hosts of its layers, their variables, and the secrets for the playbook.
func TestSite(t *testing.T) {
	s, d, outputs := withHost(t)
	template := filepath.Join(d.Repository, "test.enc.env.example")
	must.Do(t, os.WriteFile(template, []byte("ANSIBLE_VAR_token=\nANOTHER=\n"), 0o600))
	must.Do(t, s.Add(d.Layer, outputs))
	must.Do(t, s.Complete())
	if len(s.Hosts) != 1 || s.Hosts[0].Name != "gate" || s.Key == nil {
		t.Errorf("got %+v", s.Hosts)
	}
	if diff := cmp.Diff([]map[string]any{{"colour": "red"}, {"token": "canary"}}, []map[string]any{s.Variables, s.Secrets}); diff != "" {
		t.Error(diff)
	}

	must.Refuse(t, s.Add(d.Layer, outputs), "two layers of test have a host named gate", "$EDITOR environments/test")
	must.Refuse(t, s.Add(d.Layer, tofu.Outputs{inventory.HostsOutput: {Value: json.RawMessage(`"x"`)}}), "is neither one host nor a map", "$EDITOR environments/test")
	s.seen = append(s.seen, layerOutputs{"net", tofu.Outputs{inventory.VariablesOutput: {Value: json.RawMessage(`[]`)}}})
	must.Refuse(t, s.Complete(), "the output ansible_vars of net is not a map", "$EDITOR environments/test")
	d.Environment.SSH = &environment.SSH{Jump: "other"}
	must.Refuse(t, s.Complete(), `ssh.jump is "other"`, "$EDITOR environments/test/environment.yaml")
	must.Refuse(t, New(d.Run).Complete(), "environment test has no hosts: no layer has an output ansible_inventory", "dagger call apply --env=test")
}

// What the playbook needs from the credentials is asked for by name.
func TestSiteCredentials(t *testing.T) {
	s, d, outputs := withHost(t)
	must.Do(t, s.Add(d.Layer, outputs))
	must.Do(t, s.Complete()) // there is no template
	template := filepath.Join(d.Repository, "test.enc.env.example")
	must.Do(t, os.WriteFile(template, []byte("ANSIBLE_VAR_new=\n"), 0o600))
	must.Refuse(t, s.Complete(), "the credentials of test have no ANSIBLE_VAR_new, which the playbook needs", "--variable=ANSIBLE_VAR_new")
	must.Do(t, os.WriteFile(template, []byte("no dotenv"), 0o600))
	must.Refuse(t, s.Complete(), "test.enc.env.example is not a dotenv file", "$EDITOR test.enc.env.example")
	must.Do(t, os.Remove(template))
	delete(d.Credentials, secrets.OperatorKey)
	must.Refuse(t, s.Complete(), "have no SSH_PRIVATE_KEY", "--variable=SSH_PRIVATE_KEY")
}

// Nothing is read of an environment without a playbook, and no site is without its layers.
func TestOpenFails(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.WithCode("")
	_, err := Open(t.Context(), d.Opened())
	must.Refuse(t, err, "environment test has no playbook", "$EDITOR environments/test/environment.yaml")
	d = testkit.New(t)
	d.WithCode("deploy: {playbook: site.yml}\n")
	must.Do(t, os.MkdirAll(filepath.Join(d.Repository, "ansible/playbooks"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(d.Repository, "ansible/playbooks/site.yml"), nil, 0o600))
	_, err = Open(t.Context(), d.Opened())
	must.NotStarted(t, err, "init")
}

// Slipway tells the playbook how many hosts to work on at once, and the images, by digest.
func TestOwn(t *testing.T) {
	s, d, _ := withHost(t)
	d.PinsFile = filepath.Join(d.Repository, "pins.env")
	const image = "registry.example.org/db:17@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	must.Do(t, os.WriteFile(d.PinsFile, []byte("DB="+image+"\n"), 0o600))
	for serial, want := range map[string]string{"": "100%", "2": "2"} {
		d.Environment.Deploy.Serial = serial
		own, err := s.own()
		must.Do(t, err)
		if own["slipway_serial"] != want || own["slipway_environment"] != "test" || own["slipway_pins"].(map[string]any)["DB"] != image {
			t.Errorf("got %v", own)
		}
	}
	must.Do(t, os.WriteFile(d.PinsFile, []byte("DB\n"), 0o600))
	_, err := s.own()
	must.Fail(t, err, "pins.env")
	_, err = s.write()
	must.Fail(t, err, "pins.env")
}

// Ansible gets the inventory, the variables and a way to log in. The key is in no file, and the agent that has it
// only signs.
func TestFilesForAnsible(t *testing.T) {
	s, d, outputs := withHost(t)
	must.Do(t, s.Add(d.Layer, outputs))
	must.Do(t, s.Complete())
	must.Do(t, os.MkdirAll(d.Path("repository/ansible"), 0o755))
	digest, err := s.write()
	must.Do(t, err)
	for name, want := range map[string]string{
		inventoryFile: `"gate":`, variablesFile: `"token": "canary"`, knownHostsFile: "[127.0.0.1]:", sshConfigFile: "IdentityAgent " + d.Path(agentSocket),
	} {
		text, err := os.ReadFile(d.Path(name))
		must.Do(t, err)
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is\n%s", name, text)
		}
		if sum := sha256.Sum256(text); (digest == "sha256:"+hex.EncodeToString(sum[:])) != (name == inventoryFile) {
			t.Errorf("%s has the digest %s", name, digest)
		}
	}

	stop, err := s.serveKey()
	must.Do(t, err)
	connection, err := new(net.Dialer).DialContext(t.Context(), "unix", d.Path(agentSocket))
	must.Do(t, err)
	defer connection.Close()
	client := agent.NewClient(connection)
	signature, err := client.Sign(s.Key.PublicKey(), []byte("session"))
	must.Do(t, err)
	must.Do(t, s.Key.PublicKey().Verify([]byte("session"), signature))
	if client.RemoveAll() == nil || client.Lock([]byte("x")) == nil {
		t.Error("the agent can be changed")
	}
	info, err := os.Stat(d.Path(agentSocket))
	must.Do(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the agent's socket has mode %s", info.Mode())
	}
	stop()
	if _, err := new(net.Dialer).DialContext(t.Context(), "unix", d.Path(agentSocket)); err == nil {
		t.Error("the agent is still there")
	}
	d.Credentials[secrets.OperatorKey] = "canary"
	_, err = s.serveKey()
	must.Fail(t, err, "the SSH key cannot be used by an agent")
}

// A deploy is kept apart from others by the lock of the hosts, and its journal says of which files it is. A dry run
// needs neither. Ansible itself is not here: the tests of whole commands run it.
func TestDeployWithoutAnsible(t *testing.T) {
	s, d, outputs := withHost(t)
	must.Do(t, s.Add(d.Layer, outputs))
	must.Do(t, s.Complete())
	must.Do(t, os.MkdirAll(d.Path("repository/ansible"), 0o755))
	t.Setenv("PATH", t.TempDir())
	var own []journal.Run
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, d.Key+".tflock") {
			var err error
			own, err = journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
			must.Do(t, err)
		}
		return false
	}
	const missing = `exec: "ansible-playbook": executable file not found`
	done, err := s.Deploy(t.Context(), Options{Commit: "3f2a91c"})
	must.Fail(t, err, missing)
	if len(own) != 1 || own[0].Commit != "3f2a91c" || !strings.HasPrefix(own[0].Inputs, "sha256:") {
		t.Errorf("its journal is %+v", own)
	}
	if done == nil || len(s.Result.Hosts) != 1 || s.Result.Hosts[0].Name != "gate" || s.Result.Hosts[0].Status != "skipped" {
		t.Errorf("got %+v", s.Result.Hosts)
	}
	d.Interrupted(journal.Header{ID: "dead", Stage: "deploy"})
	_, err = s.Deploy(t.Context(), Options{})
	must.Fail(t, err, missing)
	d.Says("run dead")
	d.Other(journal.Header{ID: "you", Stage: "deploy"})
	done, err = s.Deploy(t.Context(), Options{})
	if must.Refuse(t, err, "run you (deploy", "dagger call deploy --env=test"); done != nil {
		t.Errorf("it began: %+v", done)
	}
	_, err = s.Deploy(t.Context(), Options{Check: true})
	must.Fail(t, err, missing)
	if strings.Contains(said(d), "nothing keeps two deploys apart") {
		t.Errorf("it says %s", said(d))
	}
	d.Store = nil
	_, err = s.Deploy(t.Context(), Options{})
	must.Fail(t, err, missing)
	if !strings.Contains(said(d), "note: the state of test is not in a bucket, so nothing keeps two deploys apart") {
		t.Errorf("it says %s", said(d))
	}
	d.Credentials[secrets.OperatorKey] = "canary"
	_, err = s.Deploy(t.Context(), Options{})
	must.Fail(t, err, "the SSH key cannot be used by an agent")
	must.Do(t, os.RemoveAll(d.Path("repository")))
	must.Do(t, os.WriteFile(d.Path("repository"), nil, 0o600))
	if _, err := s.Deploy(t.Context(), Options{}); err == nil || strings.Contains(err.Error(), "SSH key") {
		t.Errorf("without a folder for the inventory: %v", err)
	}
}

// Why a host lets nobody in is found out before Ansible asks it.
func TestDeployReaches(t *testing.T) {
	s, d, outputs := withHost(t)
	must.Do(t, s.Add(d.Layer, outputs))
	must.Do(t, s.Complete())
	must.Do(t, os.MkdirAll(d.Path("repository/ansible"), 0o755))
	t.Setenv("PATH", t.TempDir())
	_, key, _ := strings.Cut(bastion.New(t).Host.KnownHosts, " ")
	s.Hosts[0].KnownHosts = "127.0.0.1 " + key // that of another host
	if _, err := s.Deploy(t.Context(), Options{Check: true}); err == nil || !errors.Is(s.unreached["gate"], remote.ErrOtherKey) {
		t.Errorf("got %v", s.unreached)
	}
}

// Each connection that ssh keeps is ended, and ssh gets nothing of the runner's environment.
func TestDisconnect(t *testing.T) {
	s, d := onDesk(t)
	must.Do(t, os.MkdirAll(d.Path(socketFolder), 0o755))
	for _, name := range []string{"one", "two"} {
		must.Do(t, os.WriteFile(d.Path(socketFolder, name), nil, 0o600))
	}
	programs := testkit.ForTools(t)
	told := filepath.Join(programs, "told")
	must.Do(t, os.WriteFile(filepath.Join(programs, "ssh"), []byte("#!/bin/sh\necho \"$@ $TOKEN\" >> "+told+"\nexit 255\n"), 0o755))
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	t.Setenv("TOKEN", "canary")
	s.disconnect(t.Context())
	text, err := os.ReadFile(told)
	must.Do(t, err)
	want := ""
	for _, name := range []string{"one", "two"} {
		want += "-F none -o ControlPath=" + d.Path(socketFolder, name) + " -O exit none \n"
	}
	if string(text) != want {
		t.Errorf("got\n%s", text)
	}
}

// The report has the failures, a table of the hosts, and the differences only of a dry run.
func TestShow(t *testing.T) {
	done := &ansible.Record{
		Hosts:    map[string]*ansible.Stats{"a": {OK: 2, Changed: 1}, "b": {Failed: 1}},
		Failures: []ansible.Failure{{Host: "b", Task: "Copy", Path: "/work/repository/ansible/x.yml:3", Reason: "no room\nat all"}},
		Changes:  []ansible.Change{{Host: "a", Task: "Copy", Item: "(item=x)", Diffs: []ansible.Diff{{Before: "one\n", After: "two\n"}}}},
	}
	const failures = "b: failed in \"Copy\" (ansible/x.yml:3): no room\n  no room\n  at all\n"
	const table = "HOST  RESULT   OK  CHANGED  FAILED  UNREACHABLE\na     changed  2   1        0       0\nb     failed   0   0        1       0\n"
	const differences = "a: Copy (item=x)\n  --- before\n  +++ after\n  @@ -1 +1 @@\n  -one\n  +two\n"
	for name, c := range map[string]struct {
		hosts       []run.HostResult
		differences bool
		want        string
	}{
		"a deploy":        {[]run.HostResult{{Name: "a", Status: "changed", OK: 2, Changed: 1}, {Name: "b", Status: "failed", Failed: 1}}, false, failures + table},
		"a dry run":       {[]run.HostResult{{Name: "a", Status: "changed", OK: 2, Changed: 1}, {Name: "b", Status: "failed", Failed: 1}}, true, differences + failures + table},
		"without results": {nil, false, failures},
	} {
		s := site(t)
		s.Result.Hosts = c.hosts
		s.Show(done, c.differences)
		if diff := cmp.Diff(c.want, s.Report.Masked(func(text string) string { return text })); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
