package flux

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"slipway/internal/must"
)

func TestSync(t *testing.T) {
	const ours = "    kustomize.toolkit.fluxcd.io/prune: disabled\n    kustomize.toolkit.fluxcd.io/ssa: Ignore\n"
	for name, c := range map[string]struct {
		settings Settings
		want     string
	}{
		"a Git repository with a token, and decryption": {
			Settings{Git: &Git{URL: "https://g/f.git", Branch: "main", Token: "T"}, Path: "./c", Interval: "1h", Decryption: "K"},
			"apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  annotations:\n" + ours + "  name: flux-system\n  namespace: flux-system\n" +
				"spec:\n  interval: 1h\n  ref:\n    branch: main\n  secretRef:\n    name: flux-system\n  url: https://g/f.git\n---\n" +
				"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  annotations:\n" + ours + "  name: flux-system\n  namespace: flux-system\n" +
				"spec:\n  decryption:\n    provider: sops\n    secretRef:\n      name: sops-age\n  interval: 1h\n  path: ./c\n  prune: true\n  retryInterval: 1m\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n",
		},
		"a public artifact": {
			Settings{OCI: &OCI{URL: "oci://g/f", Tag: "t", Insecure: true}, Path: "./", Interval: "1h"},
			"apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata:\n  annotations:\n" + ours + "  name: flux-system\n  namespace: flux-system\n" +
				"spec:\n  insecure: true\n  interval: 1h\n  ref:\n    tag: t\n  url: oci://g/f\n---\n" +
				"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  annotations:\n" + ours + "  name: flux-system\n  namespace: flux-system\n" +
				"spec:\n  interval: 1h\n  path: ./\n  prune: true\n  retryInterval: 1m\n  sourceRef:\n    kind: OCIRepository\n    name: flux-system\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var texts []string
			for _, o := range c.settings.Sync() {
				text, err := yaml.Marshal(o.Object)
				must.Do(t, err)
				texts = append(texts, string(text))
			}
			if got := strings.Join(texts, "---\n"); got != c.want {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

func TestPrepared(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must.Do(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	must.Do(t, err)
	values := map[string]string{"KEY": string(pem.EncodeToMemory(block)), "AGE": "age identity", "A": "a", "NOKEY": "no key"}
	set := func(variable string) string {
		return "dagger call secrets set --file=credentials/test.enc.env --variable=" + variable + " --value=env://VALUE"
	}
	f := Settings{
		Git: &Git{Key: "KEY", KnownHosts: []string{"one", "two"}}, Decryption: "AGE",
		Secrets: []Secret{{Name: "x", Namespace: "apps", Values: []Value{{"k", "A"}}}, {Name: "y", Namespace: "apps", Values: []Value{{"k", "A"}}}, {Name: "z", Namespace: Namespace, Values: []Value{{"k", "A"}}}},
	}
	if got := f.Variables(); !slices.Equal(got, []string{"KEY", "AGE", "A", "A", "A"}) {
		t.Errorf("the variables are %q", got)
	}
	if got := f.Namespaces(); len(got) != 1 || got[0].GetName() != "apps" || got[0].GetAnnotations() != nil {
		t.Errorf("the namespaces are %v", got)
	}
	objects, err := f.Prepared(values, set)
	must.Do(t, err)
	got := map[string]string{}
	for _, o := range objects {
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		for k, v := range data {
			plain, err := base64.StdEncoding.DecodeString(v)
			must.Do(t, err)
			got[o.GetNamespace()+"/"+o.GetName()+"/"+k] = string(plain)
		}
	}
	public := got["flux-system/flux-system/identity.pub"]
	delete(got, "flux-system/flux-system/identity.pub")
	want := map[string]string{
		"flux-system/sops-age/age.agekey": "age identity", "flux-system/flux-system/identity": values["KEY"], "flux-system/flux-system/known_hosts": "one\ntwo\n",
		"apps/x/k": "a", "apps/y/k": "a", "flux-system/z/k": "a",
	}
	if !maps.Equal(got, want) || !strings.HasPrefix(public, "ssh-ed25519 ") {
		t.Errorf("got %q, public %s", got, public)
	}
	f.Git.Key = "NOKEY"
	_, err = f.Prepared(values, set)
	must.Refuse(t, err, "NOKEY is not a private SSH key without a passphrase", set("NOKEY"))
}
