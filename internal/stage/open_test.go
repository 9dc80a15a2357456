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
	VaultFile   = "credentials/test.enc.env"
	VaultMarker = "/state/test/environment.json"
)

// A Vault is a session that has loaded nothing yet. Its repository has the environment
// test, with sealed credentials.
type Vault struct {
	*Run
	T        *testing.T
	AgeKey   *age.X25519Identity
	Progress *bytes.Buffer
	Endpoint string // of the store
	Marker   string // what the store has; empty: none
}

func NewVault(t *testing.T) *Vault {
	t.Helper()
	v := &Vault{T: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != VaultMarker || v.Marker == "":
			w.WriteHeader(http.StatusNotFound)
		case v.Marker == "forbidden":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write([]byte(v.Marker))
		}
	}))
	t.Cleanup(server.Close)
	v.Endpoint = server.URL
	v.Run, _, v.Progress = Quiet(t, Command{Name: "apply", Opens: State})
	v.Env, v.Repository, v.Work = "test", t.TempDir(), t.TempDir()
	v.AgeKey = NewAge(t)
	v.IdentityFile = filepath.Join(t.TempDir(), "keys.txt")
	Do(t, os.WriteFile(v.IdentityFile, []byte("# created: now\n"+v.AgeKey.String()+"\n"), 0o600))
	v.Describe("credentials: [test]", v.InBucket())
	v.Write("environments/test/main.tf", "")
	v.Seal(VaultFile, VaultVariables())
	return v
}

func NewAge(t *testing.T) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	Do(t, err)
	return key
}

// VaultVariables are what an environment needs.
func VaultVariables() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "access-key-for-tests", "AWS_SECRET_ACCESS_KEY": "secret-key-for-tests", state.Passphrase: Passphrase}
}

func (v *Vault) With(variable, value string) {
	v.T.Helper()
	variables := VaultVariables()
	variables[variable] = value
	v.Seal(VaultFile, variables)
}

func (v *Vault) InBucket() string {
	return fmt.Sprintf("state:\n  s3: {bucket: state, region: us-east-1, endpoint: %q}", v.Endpoint)
}

// Describe writes environment.yaml.
func (v *Vault) Describe(lines ...string) {
	v.T.Helper()
	v.Write("environments/test/environment.yaml", strings.Join(lines, "\n")+"\n")
}

func (v *Vault) Write(name, text string) {
	v.T.Helper()
	path := filepath.Join(v.Repository, name)
	Do(v.T, os.MkdirAll(filepath.Dir(path), 0o755))
	Do(v.T, os.WriteFile(path, []byte(text), 0o600))
}

// Seal writes credentials that the vault's key opens, and those of others.
func (v *Vault) Seal(name string, variables map[string]string, others ...*age.X25519Identity) {
	v.T.Helper()
	v.SealTo(name, variables, append(others, v.AgeKey)...)
}

func (v *Vault) SealTo(name string, variables map[string]string, readers ...*age.X25519Identity) {
	v.T.Helper()
	var recipients []string
	for _, reader := range readers {
		recipients = append(recipients, reader.Recipient().String())
	}
	data, err := secrets.Seal(name, variables, recipients)
	Do(v.T, err)
	v.Write(name, string(data))
}

// What is loaded is the environment's: of two files the later wins, and who reads that one
// may read what is left.
func TestLoad(t *testing.T) {
	v := NewVault(t)
	v.Describe("credentials: [base, test]", v.InBucket())
	v.Seal("credentials/base.enc.env", map[string]string{"OS_PASSWORD": "of-the-base-1", "TF_VAR_base": "in-the-base-2"}, NewAge(t))
	v.With("OS_PASSWORD", "of-the-environment-3")
	Do(t, v.OpenCredentials())
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
	v := NewVault(t)
	variables := VaultVariables()
	for variable, value := range map[string]string{"OS_PROJECT_NAME": "project-4711-of-ours", "OS_USERNAME": "backend", "OS_PASSWORD": "of-the-cloud-3", "TF_VAR_pin": "abc"} {
		variables[variable] = value
	}
	v.Seal(VaultFile, variables)
	Do(t, v.OpenCredentials())
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
	v := NewVault(t)
	v.Describe(`state: {http: {address: "https://state.example.org"}}`)
	Do(t, v.OpenCredentials())
	if v.Store != nil || len(v.Credentials) > 0 || len(v.Recipients) > 0 {
		t.Errorf("%v, %q, %q", v.Store, v.Credentials, v.Recipients)
	}
}

// A stage that only reads opens other credentials, and leaves what it makes to the readers
// of the environment's own.
func TestLoadToPlan(t *testing.T) {
	v := NewVault(t)
	v.OnlyReads()
	v.Describe("credentials: [test]", "plan: {credentials: [reading]}", v.InBucket())
	other := NewAge(t)
	v.SealTo(VaultFile, VaultVariables(), other)
	v.Seal("credentials/reading.enc.env", VaultVariables())
	Do(t, v.OpenCredentials())
	if !slices.Equal(v.Recipients, []string{other.Recipient().String()}) {
		t.Errorf("its readers are %q", v.Recipients)
	}
	v.Write(VaultFile, "NAME=value\n")
	Refuse(t, v.OpenCredentials(), VaultFile+" is not encrypted", "sops --encrypt --in-place "+VaultFile)
}

// Layers are chosen by their names.
func TestLoadLayer(t *testing.T) {
	v := NewVault(t)
	v.Describe("credentials: [test]", "layers: [{path: net}, {path: app}]", v.InBucket())
	v.Write("environments/test/net/main.tf", "")
	v.Write("environments/test/app/main.tf", "")
	for _, layer := range []string{"", "net", "app"} {
		v.OnlyLayer = layer
		Do(t, v.OpenCredentials())
	}
	v.OnlyLayer = "nte"
	Refuse(t, v.OpenCredentials(), `environment test has no layer "nte"`, "the layers of test are net, app")
}

// What is missing or wrong is refused with the command that mends it.
func TestLoadRefuses(t *testing.T) {
	const set = "dagger call secrets set --file=" + VaultFile + " --variable="
	for name, c := range map[string]struct {
		change        func(v *Vault)
		message, hint string
	}{
		"no such environment":   {func(v *Vault) { v.Env = "prod" }, `there is no environment "prod"`, "the environments are test"},
		"no file":               {func(v *Vault) { Do(v.T, os.Remove(filepath.Join(v.Repository, VaultFile))) }, "there is no file " + VaultFile, "dagger call secrets init"},
		"no identity":           {func(v *Vault) { v.IdentityFile = "/nonexistent" }, "no age identity is given", "AGEKEY=file://"},
		"another's file":        {func(v *Vault) { v.SealTo(VaultFile, VaultVariables(), NewAge(v.T)) }, VaultFile + " is encrypted to ", "ask one of its readers to add you"},
		"an unset variable":     {func(v *Vault) { v.Write(VaultFile+".example", "OS_USERNAME=\n") }, VaultFile + " has no OS_USERNAME", set + "OS_USERNAME"},
		"no key to the bucket":  {func(v *Vault) { v.With("AWS_ACCESS_KEY_ID", "") }, "the credentials of test have no AWS_ACCESS_KEY_ID, which opens", set + "AWS_ACCESS_KEY_ID"},
		"no other half of it":   {func(v *Vault) { v.With("AWS_SECRET_ACCESS_KEY", "") }, "the credentials of test have no AWS_SECRET_ACCESS_KEY", set + "AWS_SECRET_ACCESS_KEY"},
		"a broken template":     {func(v *Vault) { v.Write(VaultFile+".example", "no dotenv\n") }, VaultFile + ".example is not a dotenv file", "$EDITOR " + VaultFile + ".example"},
		"no credentials at all": {func(v *Vault) { v.Describe(v.InBucket()) }, "the credentials of test have no AWS_ACCESS_KEY_ID", set + "AWS_ACCESS_KEY_ID"},
	} {
		t.Run(name, func(t *testing.T) {
			v := NewVault(t)
			c.change(v)
			Refuse(t, v.OpenCredentials(), c.message, c.hint)
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
			v := NewVault(t)
			v.Write(VaultFile+".example", c.template)
			err := v.OpenCredentials()
			if c.message != "" {
				Refuse(t, err, c.message, "")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	v := NewVault(t)
	Do(t, os.Mkdir(filepath.Join(v.Repository, VaultFile+".example"), 0o755))
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
		Refuse(t, got, err.Error(), hint)
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
		return `{"version":1,"environment":"` + environment + `","proof":"` + FastProof(environment, passphrase) + `"}`
	}
	for name, c := range map[string]struct {
		marker        string
		change        func(v *Vault)
		message, hint string // empty: it is opened
	}{
		"its own":             {marker: of("test", Passphrase)},
		"by the previous":     {marker: of("test", "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"), change: func(v *Vault) { v.With(state.PreviousPassphrase, "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4") }},
		"by another":          {marker: of("test", "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"), message: "STATE_PASSPHRASE in the credentials of test is not the passphrase that encrypts its state", hint: "git log -p -- " + VaultFile},
		"another's":           {marker: of("prod", Passphrase), message: `belongs to environment "prod"`, hint: "$EDITOR environments/test/environment.yaml"},
		"not prepared":        {message: "has not been prepared for environment test", hint: "dagger call bootstrap --env=test"},
		"no passphrase":       {marker: of("test", ""), change: func(v *Vault) { v.With(state.Passphrase, "") }, message: "the credentials have no STATE_PASSPHRASE", hint: "openssl rand"},
		"a weak passphrase":   {marker: of("test", "weak"), change: func(v *Vault) { v.With(state.Passphrase, "weak") }, message: "STATE_PASSPHRASE has 4 characters", hint: "openssl rand"},
		"no such environment": {change: func(v *Vault) { v.Env = "prod" }, message: `there is no environment "prod"`},
		"over HTTP, unmarked": {change: func(v *Vault) {
			v.Describe("credentials: [test]", `state: {http: {address: "https://state.example.org"}}`)
		}},
		"over HTTP, and unset": {change: func(v *Vault) { v.Describe(`state: {http: {address: "https://state.example.org"}}`) }, message: "the credentials have no STATE_PASSPHRASE"},
	} {
		t.Run(name, func(t *testing.T) {
			v := NewVault(t)
			v.Marker = c.marker
			if c.change != nil {
				c.change(v)
			}
			err := v.Open(t.Context())
			if c.message != "" {
				Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	for marker, want := range map[string]string{"forbidden": "403", "{}": "the marker test/environment.json in "} {
		v := NewVault(t)
		v.Marker = marker
		var refused *refusal.Error
		if err := v.Open(t.Context()); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", marker, err)
		}
	}
}
