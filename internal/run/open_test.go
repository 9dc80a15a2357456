package run_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/fault"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
)

// The environment's own credentials are loaded: of two files the later wins, and the recipients of
// that one may read the rest.
func TestLoad(t *testing.T) {
	v := testkit.NewVault(t)
	v.Describe("credentials: [base, test]", v.InBucket())
	v.Seal("credentials/base.enc.env", map[string]string{"OS_PASSWORD": "of-the-base-1", "TF_VAR_base": "in-the-base-2"}, testkit.NewAge(t))
	v.With("OS_PASSWORD", "of-the-environment-3")
	must.Do(t, v.OpenCredentials())
	for variable, want := range map[string]string{"OS_PASSWORD": "of-the-environment-3", "TF_VAR_base": "in-the-base-2", "AWS_ACCESS_KEY_ID": "access-key-for-tests"} {
		if got := v.Credentials[variable]; got != want {
			t.Errorf("%s is %q", variable, got)
		}
	}
	if mine := []string{v.AgeKey.Recipient().String()}; !slices.Equal(v.Recipients, mine) || !slices.Equal(v.Identity.Recipients(), mine) {
		t.Errorf("its readers are %q, and we are %q", v.Recipients, v.Identity.Recipients())
	}
	if v.Store == nil || v.Store.Name() == "" {
		t.Error("there is no store")
	}
	if got := v.Progress.String(); got != "" {
		t.Errorf("it says %q", got)
	}
}

// Credentials and the identity are masked. Settings, and what is as ordinary as a user's
// name, are not.
func TestLoadMasks(t *testing.T) {
	v := testkit.NewVault(t)
	variables := testkit.VaultVariables()
	for variable, value := range map[string]string{"OS_PROJECT_NAME": "project-4711-of-ours", "OS_USERNAME": "backend", "OS_PASSWORD": "of-the-cloud-3", "TF_VAR_pin": "abc"} {
		variables[variable] = value
	}
	v.Seal(testkit.VaultFile, variables)
	must.Do(t, v.OpenCredentials())
	for text, want := range map[string]string{
		"project-4711-of-ours": "project-4711-of-ours", "backend": "backend", "# created: now": "# created: now",
		"of-the-cloud-3": "***", "secret-key-for-tests": "***", v.AgeKey.String(): "***",
	} {
		if got := v.Mask.String(text); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
	if got := v.Progress.String(); got != "note: 1 of the credentials are shorter than 4 characters and cannot be masked\n" {
		t.Errorf("it says %q", got)
	}
}

// An environment may do without credentials, and without a bucket.
func TestLoadWithout(t *testing.T) {
	v := testkit.NewVault(t)
	v.Describe(`state: {http: {address: "https://state.example.org"}}`)
	must.Do(t, v.OpenCredentials())
	if v.Store != nil || len(v.Credentials) > 0 || len(v.Recipients) > 0 {
		t.Errorf("%v, %q, %q", v.Store, v.Credentials, v.Recipients)
	}
}

// A stage that only reads opens other credentials, and leaves what it makes to the readers
// of the environment's own.
func TestLoadToPlan(t *testing.T) {
	v := testkit.NewVault(t)
	v.OnlyReads()
	v.Describe("credentials: [test]", "plan: {credentials: [reading]}", v.InBucket())
	other := testkit.NewAge(t)
	v.SealTo(testkit.VaultFile, testkit.VaultVariables(), other)
	v.Seal("credentials/reading.enc.env", testkit.VaultVariables())
	must.Do(t, v.OpenCredentials())
	if !slices.Equal(v.Recipients, []string{other.Recipient().String()}) {
		t.Errorf("its readers are %q", v.Recipients)
	}
	v.Write(testkit.VaultFile, "NAME=value\n")
	must.Refuse(t, v.OpenCredentials(), testkit.VaultFile+" is not encrypted", "sops --encrypt --in-place "+testkit.VaultFile)
}

// Whoever can plan cannot log in to the hosts: what only a deploy needs is no credential for plans.
func TestLoadToPlanRefuses(t *testing.T) {
	const reading = "credentials/reading.enc.env"
	split := "plan: {credentials: [reading]}"
	for name, c := range map[string]struct {
		variable, plan, deploy string
		changes                bool // the stage
		refused                bool
	}{
		"the hosts' key":             {"SSH_PRIVATE_KEY", split, "", false, true},
		"a secret of the playbook":   {"ANSIBLE_VAR_password", split, "deploy: {playbook: site.yml}", false, true},
		"what a plan needs":          {"TF_VAR_password", split, "", false, false},
		"for a drift check":          {"SSH_PRIVATE_KEY", split, "deploy: {playbook: site.yml, drift: true}", false, false},
		"not split":                  {"SSH_PRIVATE_KEY", "", "", false, false},
		"a stage that may log in":    {"SSH_PRIVATE_KEY", split, "", true, false},
		"a name that only resembles": {"SSH_PRIVATE_KEY_NAME", split, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := testkit.NewVault(t)
			if !c.changes {
				v.OnlyReads()
			}
			v.Write("ansible/playbooks/site.yml", "[]\n")
			values := testkit.VaultVariables()
			values[c.variable] = "a-value-that-is-long"
			v.Seal(reading, values)
			v.Describe("credentials: [reading, test]", c.plan, c.deploy, v.InBucket())
			err := v.OpenCredentials()
			if c.refused {
				must.Refuse(t, err, reading+" is for plans and contains "+c.variable,
					"dagger call secrets set --file="+testkit.VaultFile+" --variable="+c.variable+` --value=env://VALUE && sops unset `+reading+` '["`+c.variable+`"]'`)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// Layers are chosen by their names.
func TestLoadLayer(t *testing.T) {
	v := testkit.NewVault(t)
	v.Describe("credentials: [test]", "layers: [{path: net}, {path: app}]", v.InBucket())
	v.Write("environments/test/net/main.tf", "")
	v.Write("environments/test/app/main.tf", "")
	for _, layer := range []string{"", "net", "app"} {
		v.OnlyLayer = layer
		must.Do(t, v.OpenCredentials())
	}
	v.OnlyLayer = "nte"
	must.Refuse(t, v.OpenCredentials(), `environment test has no layer "nte"`, "the layers of test are net, app")
	// Some commands also work on a cluster.
	v.OnlyLayer = "cluster.yaml"
	must.Refuse(t, v.OpenCredentials(), `environment test has no layer "cluster.yaml"`, "the layers of test are net, app")
	v.Write("environments/test/cluster.yaml", "")
	must.Refuse(t, v.OpenCredentials(), `environment test has no layer "cluster.yaml"`, "the layers of test are net, app")
	v.Run = run.New(run.Command{Name: "plan", ByLayer: true, WithCluster: true}, v.Options)
	must.Do(t, v.OpenCredentials())
	v.OnlyLayer = "nte"
	must.Refuse(t, v.OpenCredentials(), `environment test has no layer "nte"`, "the layers of test are net, app, cluster.yaml")
}

// Whatever is missing or wrong is refused with the command that fixes it.
func TestLoadRefuses(t *testing.T) {
	const set = "dagger call secrets set --file=" + testkit.VaultFile + " --variable="
	for name, c := range map[string]struct {
		change        func(v *testkit.Vault)
		message, hint string
	}{
		"no such environment":   {func(v *testkit.Vault) { v.Env = "prod" }, `there is no environment "prod"`, "the environments are test"},
		"no file":               {func(v *testkit.Vault) { must.Do(v.T, os.Remove(filepath.Join(v.Repository, testkit.VaultFile))) }, "there is no file " + testkit.VaultFile, "dagger call secrets init"},
		"no identity":           {func(v *testkit.Vault) { v.IdentityFile = "/nonexistent" }, "no age identity was given", "AGEKEY=file://"},
		"another's file":        {func(v *testkit.Vault) { v.SealTo(testkit.VaultFile, testkit.VaultVariables(), testkit.NewAge(v.T)) }, testkit.VaultFile + " is encrypted to ", "ask one of its readers to add you"},
		"an unset variable":     {func(v *testkit.Vault) { v.Write(testkit.VaultFile+".example", "OS_USERNAME=\n") }, testkit.VaultFile + " has no OS_USERNAME", set + "OS_USERNAME"},
		"no key to the bucket":  {func(v *testkit.Vault) { v.With("AWS_ACCESS_KEY_ID", "") }, "the credentials of test have no AWS_ACCESS_KEY_ID, which is needed", set + "AWS_ACCESS_KEY_ID"},
		"no other half of it":   {func(v *testkit.Vault) { v.With("AWS_SECRET_ACCESS_KEY", "") }, "the credentials of test have no AWS_SECRET_ACCESS_KEY", set + "AWS_SECRET_ACCESS_KEY"},
		"a broken template":     {func(v *testkit.Vault) { v.Write(testkit.VaultFile+".example", "no dotenv\n") }, testkit.VaultFile + ".example is not a dotenv file", "$EDITOR " + testkit.VaultFile + ".example"},
		"no credentials at all": {func(v *testkit.Vault) { v.Describe(v.InBucket()) }, "the credentials of test have no AWS_ACCESS_KEY_ID", set + "AWS_ACCESS_KEY_ID"},
	} {
		t.Run(name, func(t *testing.T) {
			v := testkit.NewVault(t)
			c.change(v)
			must.Refuse(t, v.OpenCredentials(), c.message, c.hint)
		})
	}
}

// A template names what has to be set: what it leaves empty and what no file sets.
func TestRefuseUnset(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		message  string // empty: it may go on
	}{
		"all are set":          {"AWS_ACCESS_KEY_ID=\nSTATE_PASSPHRASE=<random>\n", ""},
		"one need not be":      {"AWS_ACCESS_KEY_ID=\nOS_REGION_NAME=GRA\n", ""},
		"none is asked for":    {"", ""},
		"one is not":           {"AWS_ACCESS_KEY_ID=\nOS_USERNAME=\n", "has no OS_USERNAME; "},
		"two are not, by name": {"OS_USERNAME=\nOS_PASSWORD=\n", "has no OS_PASSWORD, OS_USERNAME; "},
	} {
		t.Run(name, func(t *testing.T) {
			v := testkit.NewVault(t)
			v.Write(testkit.VaultFile+".example", c.template)
			err := v.OpenCredentials()
			if c.message != "" {
				must.Refuse(t, err, c.message, "")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	v := testkit.NewVault(t)
	must.Do(t, os.Mkdir(filepath.Join(v.Repository, testkit.VaultFile+".example"), 0o755))
	if err := v.OpenCredentials(); err == nil || fault.Is(err, fault.Refused) {
		t.Errorf("a template that cannot be read: %v", err)
	}
}

// A store only opens with the passphrase that its marker proves, or with that as the previous one.
func TestOpen(t *testing.T) {
	of := func(environment, passphrase string) string {
		return `{"version":1,"environment":"` + environment + `","proof":"` + testkit.FastProof(environment, passphrase) + `"}`
	}
	for name, c := range map[string]struct {
		marker        string
		change        func(v *testkit.Vault)
		message, hint string // empty: it is opened
	}{
		"its own":             {marker: of("test", testkit.Passphrase)},
		"by the previous":     {marker: of("test", "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"), change: func(v *testkit.Vault) { v.With(state.PreviousPassphrase, "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4") }},
		"by another":          {marker: of("test", "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"), message: "STATE_PASSPHRASE in the credentials of test is not the passphrase that encrypts its state", hint: "git log -p -- " + testkit.VaultFile},
		"another's":           {marker: of("prod", testkit.Passphrase), message: `belongs to environment "prod"`, hint: "$EDITOR environments/test/environment.yaml"},
		"not prepared":        {message: "has not been prepared for environment test", hint: "dagger call bootstrap --env=test"},
		"no passphrase":       {marker: of("test", ""), change: func(v *testkit.Vault) { v.With(state.Passphrase, "") }, message: "the credentials have no STATE_PASSPHRASE", hint: "openssl rand"},
		"a weak passphrase":   {marker: of("test", "weak"), change: func(v *testkit.Vault) { v.With(state.Passphrase, "weak") }, message: "STATE_PASSPHRASE has 4 characters", hint: "openssl rand"},
		"no such environment": {change: func(v *testkit.Vault) { v.Env = "prod" }, message: `there is no environment "prod"`},
		"over HTTP, unmarked": {change: func(v *testkit.Vault) {
			v.Describe("credentials: [test]", `state: {http: {address: "https://state.example.org"}}`)
		}},
		"over HTTP, and unset": {change: func(v *testkit.Vault) { v.Describe(`state: {http: {address: "https://state.example.org"}}`) }, message: "the credentials have no STATE_PASSPHRASE"},
	} {
		t.Run(name, func(t *testing.T) {
			v := testkit.NewVault(t)
			v.Marker = c.marker
			if c.change != nil {
				c.change(v)
			}
			err := v.Open(t.Context())
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	for marker, want := range map[string]string{"forbidden": "403", "{}": "the marker test/environment.json in "} {
		v := testkit.NewVault(t)
		v.Marker = marker
		if err := v.Open(t.Context()); err == nil || fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", marker, err)
		}
	}
}

// The images are those of the pins, if any came along; pins that cannot be read are no
// absence of them.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	digest := "sha256:" + strings.Repeat("0", 64)
	must.Do(t, os.WriteFile(filepath.Join(dir, "pins"), []byte("OPENTOFU=ghcr.io/opentofu/opentofu:1.12.6@"+digest+"\nGO=golang:1.26@"+digest+"\n"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "broken"), []byte("x\n"), 0o600))
	for name, c := range map[string]struct {
		pins   string
		images int
		want   string // of the error; empty: none
	}{
		"none named":     {},
		"none there":     {pins: filepath.Join(dir, "none")},
		"pins":           {pins: filepath.Join(dir, "pins"), images: 2},
		"no pins":        {pins: filepath.Join(dir, "broken"), want: "broken: line 1"},
		"not to be read": {pins: filepath.Join(dir, "pins", "x"), want: "not a directory"},
	} {
		images, err := (&run.Run{Options: run.Options{PinsFile: c.pins}}).Pins()
		if len(images) != c.images || c.images > 0 && images[0].Repository+"@"+images[0].Digest != "ghcr.io/opentofu/opentofu@"+digest {
			t.Errorf("%s: %v", name, images)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
