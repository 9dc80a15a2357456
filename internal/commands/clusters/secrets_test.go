package clusters

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/must"
	"slipway/internal/secrets"
	"slipway/internal/talos"
	"slipway/internal/testkit"
)

const file = "credentials/test-talos.enc.yaml"

const described = `name: home
talos: v1.14.1
kubernetes: v1.35.0
endpoint: https://10.0.0.10:6443
nodes: [{name: a, address: 10.0.0.11, role: controlplane, disk: /dev/sda}, {name: w, address: 10.0.0.21, role: worker, disk: /dev/sdb}]
`

// withCluster is the repository of an environment with a cluster.
func withCluster(t *testing.T) *testkit.Vault {
	t.Helper()
	v := testkit.NewVault(t)
	v.Write(cluster.Path("test"), described)
	v.Write(".sops.yaml", "creation_rules:\n  - path_regex: ^credentials/\n    age: "+v.AgeKey.Recipient().String()+"\n")
	return v
}

// commit takes the changed file into the repository.
func commit(v *testkit.Vault) {
	v.T.Helper()
	data, err := os.ReadFile(filepath.Join(v.Out, "changed", file))
	must.Do(v.T, err)
	v.Write(file, string(data))
}

// given writes a bundle of another cluster, and returns its path and its secrets.
func given(t *testing.T) (path string, values []string) {
	t.Helper()
	contract, err := talos.Contract("v1.14.1")
	must.Do(t, err)
	bundle, err := talos.NewSecrets(contract)
	must.Do(t, err)
	text, err := talos.WriteSecrets(bundle)
	must.Do(t, err)
	path = filepath.Join(t.TempDir(), "secrets.yaml")
	must.Do(t, os.WriteFile(path, text, 0o600))
	return path, talos.SecretsOf(bundle)
}

// opened returns the secrets in the repository.
func opened(v *testkit.Vault) []string {
	v.T.Helper()
	must.Do(v.T, v.OpenCredentials())
	c, err := clusters.Read(v.Run)
	must.Do(v.T, err)
	must.Do(v.T, c.NeedSecrets())
	return talos.SecretsOf(c.Secrets)
}

// The secrets are made once. Nothing of them is in the clear.
func TestSecretsOnce(t *testing.T) {
	v := withCluster(t)
	must.Do(t, makeSecrets(v.Run, "/nonexistent"))
	commit(v)
	sealed, err := os.ReadFile(filepath.Join(v.Repository, file))
	must.Do(t, err)
	values := opened(v)
	for _, value := range values {
		if value != "" && strings.Contains(string(sealed), value) {
			t.Error("a secret is in the clear")
		}
		if middle := value[len(value)/3 : len(value)*2/3]; value != "" && strings.Contains(v.Mask.String(value), middle) {
			t.Error("a secret is not masked")
		}
	}
	findings, err := secrets.Check(v.Repository, &v.Identity)
	must.Do(t, err)
	if i := slices.IndexFunc(findings, func(f secrets.Finding) bool { return f.Path == file }); i < 0 || !findings[i].Opened {
		t.Errorf("the check of all files says %+v", findings)
	}

	v.Out = t.TempDir()
	must.Do(t, makeSecrets(v.Run, "/nonexistent"))
	if _, err := os.Stat(filepath.Join(v.Out, "changed")); err == nil {
		t.Error("they were made again")
	}
}

// Those of an existing cluster are taken in, encrypted or not. Those of two clusters are never mixed.
func TestSecretsTakenIn(t *testing.T) {
	path, values := given(t)
	text, err := os.ReadFile(path)
	must.Do(t, err)
	for name, sealed := range map[string]bool{"plain": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			v := withCluster(t)
			from := path
			if sealed {
				data, err := secrets.SealDocument("talsecret.sops.yaml", text, []string{v.AgeKey.Recipient().String()})
				must.Do(t, err)
				from = filepath.Join(t.TempDir(), "talsecret.sops.yaml")
				must.Do(t, os.WriteFile(from, data, 0o600))
			}
			must.Do(t, makeSecrets(v.Run, from))
			commit(v)
			if !slices.Equal(opened(v), values) {
				t.Error("they are others")
			}
			must.Do(t, makeSecrets(v.Run, from))
			other, _ := given(t)
			must.Refuse(t, makeSecrets(v.Run, other), file+" already has the secrets of another cluster", "git log -- "+file)
		})
	}
}

func TestSecretsRefuses(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "given")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	plain, _ := given(t)
	text, err := os.ReadFile(plain)
	must.Do(t, err)
	foreign, err := secrets.SealDocument("x.yaml", text, []string{testkit.NewAge(t).Recipient().String()})
	must.Do(t, err)
	for name, c := range map[string]struct {
		change        func(*testkit.Vault)
		from          string
		message, hint string
	}{
		"no cluster":     {func(v *testkit.Vault) { must.Do(t, os.Remove(filepath.Join(v.Repository, cluster.Path("test")))) }, "/nonexistent", "environment test has no cluster", "$EDITOR environments/test/cluster.yaml"},
		"no rule":        {func(v *testkit.Vault) { must.Do(t, os.Remove(filepath.Join(v.Repository, ".sops.yaml"))) }, "/nonexistent", "the repository has no .sops.yaml", "cp .sops.yaml.example .sops.yaml"},
		"another file":   {func(*testkit.Vault) {}, write("canary: canary\n"), "the file of --from cannot be taken in: it is not a file of `talosctl gen secrets`", "talosctl gen secrets"},
		"no YAML":        {func(*testkit.Vault) {}, write("canary: ["), "the file of --from cannot be taken in", "talosctl gen secrets"},
		"to another key": {func(*testkit.Vault) {}, write(string(foreign)), "the file of --from cannot be taken in: given.yaml is encrypted to age1", "talosctl gen secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			v := withCluster(t)
			c.change(v)
			err := makeSecrets(v.Run, c.from)
			must.Refuse(t, err, c.message, c.hint)
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("it quotes the file: %v", err)
			}
		})
	}
}

// The configurations show what is set, and no secret.
func TestConfig(t *testing.T) {
	v := withCluster(t)
	must.Do(t, makeSecrets(v.Run, "/nonexistent"))
	commit(v)
	values := opened(v)
	c, err := clusters.Open(t.Context(), v.Run)
	must.Do(t, err)
	v.Write("environments/test/sysctls.yaml", "apiVersion: v1alpha1\nkind: SysctlConfig\nname: tuned\nsysctls: {vm.swappiness: \"10\"}\n")
	v.Write("environments/test/env.yaml", "machine: {env: {HTTPS_PROXY: \"http://u:canary@proxy\"}}\n")
	c.Spec.Patches = []string{"env.yaml"}
	must.Do(t, showConfigs(c, ""))
	v.End(nil)
	text := v.Options.Stdout.(interface{ String() string }).String()
	for _, want := range []string{"a (controlplane, 10.0.0.11)\n", "w (worker, 10.0.0.21)\n", "  machine.type: controlplane\n", "  machine.token: (hidden)\n", "  machine.env.HTTPS_PROXY: (hidden)\n", "  HostnameConfig: hostname: w\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	for _, value := range append(values, "canary") {
		if value != "" && strings.Contains(text, value) {
			t.Error("a secret is shown")
		}
	}
	must.Refuse(t, showConfigs(c, "b"), `cluster home has no node "b"`, "the nodes of test are a, w")
	v.Write("environments/test/env.yaml", "machine: {nope: 1}\n")
	must.Refuse(t, showConfigs(c, "w"), "the configuration of w is not valid: ", "$EDITOR environments/test/env.yaml")
}
