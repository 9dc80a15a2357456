package stage

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"slipway/internal/refusal"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

const (
	vaultFile   = "credentials/test.enc.env"
	vaultMarker = "/state/test/environment.json"
)

// A vault is a session that has loaded nothing yet. Its repository has the environment
// test, with sealed credentials.
type vault struct {
	*Run
	t        *testing.T
	key      *age.X25519Identity
	stderr   *bytes.Buffer
	endpoint string // of the store
	marker   string // what the store has; empty: none
}

func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != vaultMarker || v.marker == "":
			w.WriteHeader(http.StatusNotFound)
		case v.marker == "forbidden":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write([]byte(v.marker))
		}
	}))
	t.Cleanup(server.Close)
	v.endpoint = server.URL
	v.Run, _, v.stderr = quiet(t, Command{Name: "apply", Opens: State})
	v.Env, v.Repository, v.Work = "test", t.TempDir(), t.TempDir()
	v.key = newAge(t)
	v.IdentityFile = filepath.Join(t.TempDir(), "keys.txt")
	must(t, os.WriteFile(v.IdentityFile, []byte("# created: now\n"+v.key.String()+"\n"), 0o600))
	v.describe("credentials: [test]", v.inBucket())
	v.write("environments/test/main.tf", "")
	v.seal(vaultFile, vaultVariables())
	return v
}

func newAge(t *testing.T) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	must(t, err)
	return key
}

// vaultVariables are what an environment needs.
func vaultVariables() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "access-key-for-tests", "AWS_SECRET_ACCESS_KEY": "secret-key-for-tests", state.Passphrase: deskPassphrase}
}

func (v *vault) with(variable, value string) {
	v.t.Helper()
	variables := vaultVariables()
	variables[variable] = value
	v.seal(vaultFile, variables)
}

func (v *vault) inBucket() string {
	return fmt.Sprintf("state:\n  s3: {bucket: state, region: us-east-1, endpoint: %q}", v.endpoint)
}

// describe writes environment.yaml.
func (v *vault) describe(lines ...string) {
	v.t.Helper()
	v.write("environments/test/environment.yaml", strings.Join(lines, "\n")+"\n")
}

func (v *vault) write(name, text string) {
	v.t.Helper()
	path := filepath.Join(v.Repository, name)
	must(v.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(v.t, os.WriteFile(path, []byte(text), 0o600))
}

// seal writes credentials that the vault's key opens, and those of others.
func (v *vault) seal(name string, variables map[string]string, others ...*age.X25519Identity) {
	v.t.Helper()
	v.sealTo(name, variables, append(others, v.key)...)
}

func (v *vault) sealTo(name string, variables map[string]string, readers ...*age.X25519Identity) {
	v.t.Helper()
	var recipients []string
	for _, reader := range readers {
		recipients = append(recipients, reader.Recipient().String())
	}
	data, err := secrets.Seal(name, variables, recipients)
	must(v.t, err)
	v.write(name, string(data))
}

// What is loaded is the environment's: of two files the later wins, and who reads that one
// may read what is left.
func TestLoad(t *testing.T) {
	v := newVault(t)
	v.describe("credentials: [base, test]", v.inBucket())
	v.seal("credentials/base.enc.env", map[string]string{"OS_PASSWORD": "of-the-base-1", "TF_VAR_base": "in-the-base-2"}, newAge(t))
	v.with("OS_PASSWORD", "of-the-environment-3")
	must(t, v.OpenCredentials())
	for variable, want := range map[string]string{"OS_PASSWORD": "of-the-environment-3", "TF_VAR_base": "in-the-base-2", "AWS_ACCESS_KEY_ID": "access-key-for-tests"} {
		if got := v.Credentials[variable]; got != want {
			t.Errorf("%s is %q", variable, got)
		}
	}
	if mine := []string{v.key.Recipient().String()}; !slices.Equal(v.Recipients, mine) || !slices.Equal(v.Identity.Recipients(), mine) {
		t.Errorf("its readers are %q, and we are %q", v.Recipients, v.Identity.Recipients())
	}
	if v.Store == nil || v.Store.Name() == "" {
		t.Error("there is no store")
	}
	if got := v.stderr.String(); got != "" {
		t.Errorf("it says %q", got)
	}
}

// Credentials and the identity are masked. Settings, and what is as ordinary as a user's
// name, are not.
func TestLoadMasks(t *testing.T) {
	v := newVault(t)
	variables := vaultVariables()
	for variable, value := range map[string]string{"OS_PROJECT_NAME": "project-4711-of-ours", "OS_USERNAME": "backend", "OS_PASSWORD": "of-the-cloud-3", "TF_VAR_pin": "abc"} {
		variables[variable] = value
	}
	v.seal(vaultFile, variables)
	must(t, v.OpenCredentials())
	for text, want := range map[string]string{
		"project-4711-of-ours": "project-4711-of-ours", "backend": "backend", "# created: now": "# created: now",
		"of-the-cloud-3": "***", "secret-key-for-tests": "***", v.key.String(): "***",
	} {
		if got := v.Mask.String(text); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
	if got := v.stderr.String(); got != "note: 1 of the credentials are shorter than 4 characters and cannot be masked\n" {
		t.Errorf("it says %q", got)
	}
}

// An environment may do without credentials, and without a bucket.
func TestLoadWithout(t *testing.T) {
	v := newVault(t)
	v.describe(`state: {http: {address: "https://state.example.org"}}`)
	must(t, v.OpenCredentials())
	if v.Store != nil || len(v.Credentials) > 0 || len(v.Recipients) > 0 {
		t.Errorf("%v, %q, %q", v.Store, v.Credentials, v.Recipients)
	}
}

// A stage that only reads opens other credentials, and leaves what it makes to the readers
// of the environment's own.
func TestLoadToPlan(t *testing.T) {
	v := newVault(t)
	v.command.Reads = true
	v.describe("credentials: [test]", "plan: {credentials: [reading]}", v.inBucket())
	other := newAge(t)
	v.sealTo(vaultFile, vaultVariables(), other)
	v.seal("credentials/reading.enc.env", vaultVariables())
	must(t, v.OpenCredentials())
	if !slices.Equal(v.Recipients, []string{other.Recipient().String()}) {
		t.Errorf("its readers are %q", v.Recipients)
	}
	v.write(vaultFile, "NAME=value\n")
	refuses(t, v.OpenCredentials(), vaultFile+" is not encrypted", "sops --encrypt --in-place "+vaultFile)
}

// Layers are chosen by their names.
func TestLoadLayer(t *testing.T) {
	v := newVault(t)
	v.describe("credentials: [test]", "layers: [{path: net}, {path: app}]", v.inBucket())
	v.write("environments/test/net/main.tf", "")
	v.write("environments/test/app/main.tf", "")
	for _, layer := range []string{"", "net", "app"} {
		v.OnlyLayer = layer
		must(t, v.OpenCredentials())
	}
	v.OnlyLayer = "nte"
	refuses(t, v.OpenCredentials(), `environment test has no layer "nte"`, "the layers of test are net, app")
}

// What is missing or wrong is refused with the command that mends it.
func TestLoadRefuses(t *testing.T) {
	const set = "dagger call secrets set --file=" + vaultFile + " --variable="
	for name, c := range map[string]struct {
		change        func(v *vault)
		message, hint string
	}{
		"no such environment":   {func(v *vault) { v.Env = "prod" }, `there is no environment "prod"`, "the environments are test"},
		"no file":               {func(v *vault) { must(v.t, os.Remove(filepath.Join(v.Repository, vaultFile))) }, "there is no file " + vaultFile, "dagger call secrets init"},
		"no identity":           {func(v *vault) { v.IdentityFile = "/nonexistent" }, "no age identity is given", "AGEKEY=file://"},
		"another's file":        {func(v *vault) { v.sealTo(vaultFile, vaultVariables(), newAge(v.t)) }, vaultFile + " is encrypted to ", "ask one of its readers to add you"},
		"an unset variable":     {func(v *vault) { v.write(vaultFile+".example", "OS_USERNAME=\n") }, vaultFile + " has no OS_USERNAME", set + "OS_USERNAME"},
		"no key to the bucket":  {func(v *vault) { v.with("AWS_ACCESS_KEY_ID", "") }, "the credentials of test have no AWS_ACCESS_KEY_ID, which opens", set + "AWS_ACCESS_KEY_ID"},
		"no other half of it":   {func(v *vault) { v.with("AWS_SECRET_ACCESS_KEY", "") }, "the credentials of test have no AWS_SECRET_ACCESS_KEY", set + "AWS_SECRET_ACCESS_KEY"},
		"a broken template":     {func(v *vault) { v.write(vaultFile+".example", "no dotenv\n") }, vaultFile + ".example is not a dotenv file", "$EDITOR " + vaultFile + ".example"},
		"no credentials at all": {func(v *vault) { v.describe(v.inBucket()) }, "the credentials of test have no AWS_ACCESS_KEY_ID", set + "AWS_ACCESS_KEY_ID"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t)
			c.change(v)
			refuses(t, v.OpenCredentials(), c.message, c.hint)
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
			v := newVault(t)
			v.write(vaultFile+".example", c.template)
			err := v.OpenCredentials()
			if c.message != "" {
				refuses(t, err, c.message, "")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	v := newVault(t)
	must(t, os.Mkdir(filepath.Join(v.Repository, vaultFile+".example"), 0o755))
	var refused *refusal.Error
	if err := v.OpenCredentials(); err == nil || errors.As(err, &refused) {
		t.Errorf("a template that cannot be read: %v", err)
	}
}

// What is wrong with a SOPS file is refused with the way to mend it, whatever it is called.
func TestRefuseSecrets(t *testing.T) {
	const name = "credentials/a b.enc.env"
	for hint, err := range map[string]error{
		"ask one of its readers to add you to .sops.yaml and to run: dagger call secrets update-keys --file='" + name + "'":                      &secrets.ForeignError{Path: name},
		"git log -p -- '" + name + "'; if it is meant: dagger call secrets set --file='" + name + "' --variable=OS_PASSWORD --value=env://EMPTY": &secrets.UndeclaredError{Path: name, Variable: "OS_PASSWORD"},
		"encrypt it before it is committed: sops --encrypt --in-place '" + name + "'":                                                            fmt.Errorf("%s %w", name, secrets.ErrPlain),
		"git log -- '" + name + "'": errors.New("it was changed without sops"),
	} {
		got := secrets.Refuse(name, err)
		refuses(t, got, err.Error(), hint)
		var refused *refusal.Error
		if errors.As(got, &refused) && refused.Hint != hint {
			t.Errorf("the hint is %q, want %q", refused.Hint, hint)
		}
	}
}

// A store is opened only by who has the passphrase that its marker proves, or had it
// before.
func TestOpen(t *testing.T) {
	of := func(environment, passphrase string) string {
		return `{"version":1,"environment":"` + environment + `","proof":"` + fastProof(environment, passphrase) + `"}`
	}
	for name, c := range map[string]struct {
		marker        string
		change        func(v *vault)
		message, hint string // empty: it is opened
	}{
		"its own":             {marker: of("test", deskPassphrase)},
		"by the previous":     {marker: of("test", "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"), change: func(v *vault) { v.with(state.PreviousPassphrase, "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4") }},
		"by another":          {marker: of("test", "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"), message: "STATE_PASSPHRASE in the credentials of test is not the passphrase that encrypts its state", hint: "git log -p -- " + vaultFile},
		"another's":           {marker: of("prod", deskPassphrase), message: `belongs to environment "prod"`, hint: "$EDITOR environments/test/environment.yaml"},
		"not prepared":        {message: "has not been prepared for environment test", hint: "dagger call bootstrap --env=test"},
		"no passphrase":       {marker: of("test", ""), change: func(v *vault) { v.with(state.Passphrase, "") }, message: "the credentials have no STATE_PASSPHRASE", hint: "openssl rand"},
		"a weak passphrase":   {marker: of("test", "weak"), change: func(v *vault) { v.with(state.Passphrase, "weak") }, message: "STATE_PASSPHRASE has 4 characters", hint: "openssl rand"},
		"no such environment": {change: func(v *vault) { v.Env = "prod" }, message: `there is no environment "prod"`},
		"over HTTP, unmarked": {change: func(v *vault) {
			v.describe("credentials: [test]", `state: {http: {address: "https://state.example.org"}}`)
		}},
		"over HTTP, and unset": {change: func(v *vault) { v.describe(`state: {http: {address: "https://state.example.org"}}`) }, message: "the credentials have no STATE_PASSPHRASE"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t)
			v.marker = c.marker
			if c.change != nil {
				c.change(v)
			}
			err := v.Open(t.Context())
			if c.message != "" {
				refuses(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	for marker, want := range map[string]string{"forbidden": "403", "{}": "the marker test/environment.json in "} {
		v := newVault(t)
		v.marker = marker
		var refused *refusal.Error
		if err := v.Open(t.Context()); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", marker, err)
		}
	}
}
