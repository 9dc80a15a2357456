package credentials

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
)

// secrets check needs no key to see that a line was appended, and what the sops
// library logs goes through the mask.
func TestSecretsCheck(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := secrets.Seal("credentials/test.enc.env", map[string]string{"NAME": "canary-1"}, []string{key.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		before, after string
		key           bool
		code          int
		want          string
	}{
		"no key":                  {"", "", false, run.Done, "the MAC was not checked"},
		"a key":                   {"", "", true, run.Done, "the MAC is correct"},
		"an empty line":           {"", "PREVIOUS=\n", false, run.BadInput, "an empty PREVIOUS"},
		"a name twice":            {"", "NAME=\n", false, run.BadInput, "a name twice: NAME"},
		"a comment with a secret": {"#" + key.String() + "\n", "", true, run.Done, "possibly unencrypted comment"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"credentials/test.enc.env": c.before + string(sealed) + c.after,
				".sops.yaml":               "creation_rules:\n  - path_regex: ^credentials/\n    age: " + key.Recipient().String() + "\n",
			} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			identity := filepath.Join(t.TempDir(), "keys.txt")
			if c.key {
				if err := os.WriteFile(identity, []byte(key.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var output bytes.Buffer
			code := run.Main(t.Context(), Check(), run.Options{Repository: dir, Out: t.TempDir(), IdentityFile: identity, Stdout: &output, Stderr: &output})
			if code != c.code || !strings.Contains(output.String(), c.want) {
				t.Errorf("code %d:\n%s", code, output.String())
			}
			if strings.Contains(output.String(), key.String()) {
				t.Errorf("the identity is shown:\n%s", output.String())
			}
		})
	}
}

// Credentials for plans that nobody but the environment's own readers can read are split for
// nothing, and a key for plans that opens the secrets of machines is one too many. That is said without a key.
func TestSecretsCheckShared(t *testing.T) {
	v := testkit.NewVault(t)
	v.Describe("credentials: [test-plan, test]", "plan: {credentials: [test-plan]}", v.InBucket())
	v.IdentityFile = "/nonexistent"
	planner := testkit.NewAge(t)
	const shared = "note: everyone who can read credentials/test-plan.enc.env can also read credentials/test.enc.env"
	machines := "note: " + planner.Recipient().String() + " only plans test, and can read credentials/test-talos.enc.yaml: whoever has it controls the machines"
	alone, both := []*age.X25519Identity{v.AgeKey}, []*age.X25519Identity{v.AgeKey, planner}
	for name, c := range map[string]struct {
		own, plans, machines []*age.X25519Identity
		note                 string
	}{
		"one key":                       {alone, alone, alone, shared},
		"the plan's key apart":          {alone, both, alone, ""},
		"the plan's in both":            {both, both, alone, shared},
		"the plan's for machines":       {alone, both, both, machines},
		"no key for plans, in machines": {alone, alone, both, shared},
	} {
		t.Run(name, func(t *testing.T) {
			rules := "creation_rules:\n"
			for file, keys := range map[string][]*age.X25519Identity{"test.enc.env": c.own, "test-plan.enc.env": c.plans, "test-talos.enc.yaml": c.machines} {
				path := "credentials/" + file
				if strings.HasSuffix(path, ".yaml") {
					sealed, err := secrets.SealDocument(path, []byte("a: {b: c}\n"), strings.Split(recipients(keys), ","))
					must.Do(t, err)
					v.Write(path, string(sealed))
				} else {
					v.SealTo(path, testkit.VaultVariables(), keys...)
				}
				rules += "  - path_regex: ^" + path + "$\n    age: " + recipients(keys) + "\n"
			}
			v.Write(".sops.yaml", rules)
			var output bytes.Buffer
			code := run.Main(t.Context(), Check(), run.Options{Repository: v.Repository, Out: t.TempDir(), IdentityFile: v.IdentityFile, Stdout: &output, Stderr: &output})
			if code != run.Done || strings.Count(output.String(), "note: ") != min(1, len(c.note)) || !strings.Contains(output.String(), c.note) {
				t.Errorf("code %d:\n%s", code, output.String())
			}
		})
	}
}

func recipients(keys []*age.X25519Identity) string {
	var list []string
	for _, key := range keys {
		list = append(list, key.Recipient().String())
	}
	return strings.Join(list, ",")
}
