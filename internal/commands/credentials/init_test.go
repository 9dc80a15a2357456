package credentials

import (
	"os"
	"path/filepath"
	"slipway/internal/must"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"
)

// A template is filled with values that nobody has seen before, and keys that
// belong together.
func TestFill(t *testing.T) {
	template := func() map[string]string {
		return map[string]string{"A": "<random>", "B": "<random>", "C": "", "D": "as it is", "KEY": "<ssh-key>", "KEY_PUBLIC": "<ssh-public-key of KEY>", "AGE": "<age-identity>"}
	}
	first, second := template(), template()
	for _, values := range []map[string]string{first, second} {
		open, shown, err := fill(values)
		if err != nil || len(open) != 1 || open[0] != "C" || values["D"] != "as it is" {
			t.Fatalf("%q, %v: %q", open, err, values)
		}
		key, err := ssh.ParsePrivateKey([]byte(values["KEY"]))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))); got != values["KEY_PUBLIC"] {
			t.Errorf("the public key is %q, want %q", values["KEY_PUBLIC"], got)
		}
		identity, err := age.ParseX25519Identity(values["AGE"])
		if err != nil {
			t.Fatal(err)
		}
		if len(shown) != 1 || shown["AGE"] != identity.Recipient().String() {
			t.Errorf("the public keys are %q", shown)
		}
		if len(values["A"]) < 40 || values["A"] == values["B"] {
			t.Errorf("got %q and %q", values["A"], values["B"])
		}
	}
	for name := range first {
		if first[name] == second[name] && name != "C" && name != "D" {
			t.Errorf("%s is the same again", name)
		}
	}
	if _, _, err := fill(map[string]string{"KEY": "x", "PUBLIC": "<ssh-public-key of KEY>"}); err == nil || !strings.Contains(err.Error(), "is not <ssh-key>") {
		t.Errorf("the public key of a text: %v", err)
	}
}

// The templates of this repository make files that fit together: the public key in the credentials
// for plans belongs to the private one in the environment's own, and nothing there opens a host.
func TestInitShipped(t *testing.T) {
	root, err := filepath.Abs("../../..")
	must.Do(t, err)
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		must.Do(t, err)
		return string(data)
	}
	for _, env := range []string{"test", "preprod", "prod"} {
		t.Run(env, func(t *testing.T) {
			v := testkit.NewVault(t)
			must.Do(t, os.RemoveAll(filepath.Join(v.Repository, "credentials")))
			own, plans := "credentials/"+env+".enc.env", "credentials/"+env+"-plan.enc.env"
			for _, file := range []string{own, plans} {
				v.Write(file+".example", read(filepath.Join(root, file+".example")))
			}
			v.Write(".sops.yaml", strings.ReplaceAll(read(filepath.Join(root, ".sops.yaml.example")), "AGE_RECIPIENT", v.AgeKey.Recipient().String()))

			must.Refuse(t, initFile(v.Run, plans), "there is no file "+own+", which has to contain SSH_PRIVATE_KEY first", "dagger call secrets init --file="+own)
			identity, err := secrets.ParseIdentity(v.AgeKey.String())
			must.Do(t, err)
			made := map[string]map[string]string{}
			for _, file := range []string{own, plans} {
				must.Do(t, initFile(v.Run, file))
				sealed := read(filepath.Join(v.Out, "changed", file))
				made[file], err = secrets.Decrypt(file, []byte(sealed), identity)
				must.Do(t, err)
				v.Write(file, sealed)
			}
			key, err := ssh.ParsePrivateKey([]byte(made[own]["SSH_PRIVATE_KEY"]))
			must.Do(t, err)
			if got := made[plans]["TF_VAR_ssh_public_key"]; got != authorizedKey(key.PublicKey()) {
				t.Errorf("the credentials for plans have the public key %q", got)
			}
			for variable := range made[plans] {
				if variable == secrets.OperatorKey || strings.HasPrefix(variable, secrets.PlaybookPrefix) {
					t.Errorf("the credentials for plans contain %s", variable)
				}
			}

			must.Do(t, os.Remove(filepath.Join(v.Repository, plans)))
			v.Seal(own, map[string]string{"SSH_PRIVATE_KEY": "no key"})
			must.Refuse(t, initFile(v.Run, plans), "SSH_PRIVATE_KEY in "+own+" is not a private key", "dagger call secrets set --file="+own+" --variable=SSH_PRIVATE_KEY --value=env://VALUE")
			v.SealTo(own, made[own], testkit.NewAge(t))
			must.Refuse(t, initFile(v.Run, plans), own+" is encrypted to ", "ask one of its readers to add you")
		})
	}
}

// Every template has a rule of its own in .sops.yaml.example, so that a key for one file can be
// added without reading another.
func TestShippedRules(t *testing.T) {
	data, err := os.ReadFile("../../../.sops.yaml.example")
	must.Do(t, err)
	keys := map[string]string{} // recipient -> file
	v := testkit.NewVault(t)
	rules := string(data)
	for strings.Contains(rules, "AGE_RECIPIENT") {
		rules = strings.Replace(rules, "AGE_RECIPIENT", testkit.NewAge(t).Recipient().String(), 1)
	}
	v.Write(".sops.yaml", rules)
	templates, err := filepath.Glob("../../../credentials/*.example")
	must.Do(t, err)
	if len(templates) < 7 {
		t.Fatalf("there are %d templates", len(templates))
	}
	for _, template := range templates {
		file := "credentials/" + strings.TrimSuffix(filepath.Base(template), ".example")
		recipients, err := secrets.Rule(v.Repository, file)
		must.Do(t, err)
		if len(recipients) != 1 || keys[recipients[0]] != "" {
			t.Errorf("%s has the rule of %q", file, keys[recipients[0]])
		}
		keys[recipients[0]] = file
	}
	// Who applies a cluster reads the secrets of its machines, and nobody else.
	for _, env := range []string{"test", "preprod", "prod"} {
		recipients, err := secrets.Rule(v.Repository, "credentials/"+env+"-talos.enc.yaml")
		must.Do(t, err)
		if keys[recipients[0]] != "credentials/"+env+".enc.env" {
			t.Errorf("the machines of %s have the rule of %q", env, keys[recipients[0]])
		}
	}
}
