package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/printable"
	"slipway/internal/redact"
	"slipway/internal/refusal"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

// Load reads the environment and opens its credentials. Nothing is asked of any
// server yet.
func (s *Run) Load() error {
	repository := os.DirFS(s.Repository)
	var err error
	if s.Environment, err = environment.Load(repository, s.Env); err != nil {
		return err
	}
	if err := s.needCredentials(); err != nil {
		return err
	}
	if err := s.ReadIdentity(); err != nil {
		return err
	}
	s.Credentials = map[string]string{}
	for _, name := range s.credentialFiles() {
		data, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		values, err := secrets.Decrypt(name, data, s.Identity)
		if err != nil {
			return RefuseSecrets(name, err)
		}
		for variable, value := range values {
			s.Credentials[variable] = value
			if !slices.Contains(settings, variable) && redact.Whole(variable, value) {
				s.Add(value)
			}
		}
	}
	// The last file is the environment's own: who reads it may recover it, and apply a
	// plan, also one that was made with less.
	if files := s.Environment.CredentialFiles; len(files) > 0 {
		own := files[len(files)-1]
		data, err := fs.ReadFile(repository, own)
		if err != nil {
			return err
		}
		if s.Recipients, err = secrets.Recipients(own, data); err != nil {
			return RefuseSecrets(own, err)
		}
	}
	if err := s.refuseUnset(repository); err != nil {
		return err
	}
	if n := s.redactor.Skipped(); n > 0 {
		s.Say("note: %d of the credentials have fewer than 4 characters and cannot be masked", n)
	}
	if store := s.Environment.State.S3; store != nil {
		for _, variable := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			if s.Credentials[variable] == "" {
				return refusal.New(s.SetCommand(variable), "the credentials of %s have no %s, by which the state's bucket is opened", s.Env, variable)
			}
		}
		s.Store = state.Open(s.Bucket())
	}
	if s.OnlyLayer != "" {
		if !slices.ContainsFunc(s.Environment.Layers, func(l environment.Layer) bool { return s.Environment.LayerName(l) == s.OnlyLayer }) {
			var names []string
			for _, l := range s.Environment.Layers {
				names = append(names, s.Environment.LayerName(l))
			}
			return refusal.New(fmt.Sprintf("the layers of %s are %s", s.Env, strings.Join(names, ", ")), "environment %s has no layer %q", s.Env, s.OnlyLayer)
		}
	}
	return nil
}

// settings are variables that stand among the credentials and are not secret: to
// mask "Default" or a region wherever it comes up would only make texts unreadable.
var settings = []string{
	"AWS_DEFAULT_REGION", "AWS_REGION", "OS_AUTH_URL", "OS_DOMAIN_NAME", "OS_IDENTITY_API_VERSION", "OS_INTERFACE", "OS_PROJECT_DOMAIN_NAME",
	"OS_PROJECT_NAME", "OS_REGION_NAME", "OS_TENANT_NAME", "OS_USER_DOMAIN_NAME", "OVH_ENDPOINT", "SCW_DEFAULT_REGION", "SCW_DEFAULT_ZONE",
}

// refuseUnset names the variables that the credentials' templates leave to be set,
// and that are not.
func (s *Run) refuseUnset(repository fs.FS) error {
	for _, name := range s.credentialFiles() {
		data, err := fs.ReadFile(repository, name+".example")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		template, err := readDotenv(data)
		if err != nil {
			return refusal.New("$EDITOR "+name+".example", "%s.example is no dotenv file", name)
		}
		var unset []string
		for _, variable := range slices.Sorted(maps.Keys(template)) {
			if template[variable] == "" && s.Credentials[variable] == "" {
				unset = append(unset, variable)
			}
		}
		if len(unset) > 0 {
			return refusal.New(fmt.Sprintf("dagger call secrets set --file=%s --variable=%s --value=env://VALUE", name, unset[0]),
				"%s has no %s; credentials/README.md says where to get them", name, strings.Join(unset, ", "))
		}
	}
	return nil
}

// Bucket is the state's, with the keys to it.
func (s *Run) Bucket() state.S3 {
	store := s.Environment.State.S3
	return state.S3{
		Bucket: store.Bucket, Endpoint: store.Endpoint, Region: store.Region,
		AccessKey: s.Credentials["AWS_ACCESS_KEY_ID"], SecretKey: s.Credentials["AWS_SECRET_ACCESS_KEY"],
	}
}

// Server keeps the state where no bucket does.
func (s *Run) Server() state.HTTP {
	if s.Environment.State.HTTP == nil {
		return state.HTTP{}
	}
	return state.HTTP{Address: s.Environment.State.HTTP.Address, Username: s.Credentials["TF_HTTP_USERNAME"], Password: s.Credentials["TF_HTTP_PASSWORD"]}
}

const IdentityHint = "put the age identity's file into .env: AGEKEY=file://$HOME/.config/sops/age/keys.txt"

func (s *Run) ReadIdentity() error {
	text, err := os.ReadFile(s.IdentityFile)
	if errors.Is(err, fs.ErrNotExist) {
		return refusal.New(IdentityHint, "no age identity is given")
	}
	if err != nil {
		return err
	}
	if s.Identity, err = secrets.ParseIdentity(string(text)); err != nil {
		return refusal.New(IdentityHint, "%v", err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			s.Add(strings.TrimSpace(line))
		}
	}
	return nil
}

// RefuseSecrets makes a refusal of what is wrong with a SOPS file.
func RefuseSecrets(name string, err error) error {
	var foreign *secrets.ForeignError
	var undeclared *secrets.UndeclaredError
	switch {
	case errors.As(err, &foreign):
		return refusal.New("ask one of its readers to add you to .sops.yaml and to run: dagger call secrets update-keys --file="+printable.Word(name), "%v", err)
	case errors.As(err, &undeclared):
		return refusal.New(fmt.Sprintf("git log -p -- %s; if it is meant: dagger call secrets set --file=%s --variable=%s --value=env://EMPTY", printable.Word(name), printable.Word(name), undeclared.Variable), "%v", err)
	case errors.Is(err, secrets.ErrPlain):
		return refusal.New("encrypt it before it is committed: sops --encrypt --in-place "+printable.Word(name), "%v", err)
	}
	return refusal.New("git log -- "+printable.Word(name), "%v", err)
}

func (s *Run) SetCommand(variable string) string {
	return fmt.Sprintf("dagger call secrets set --file=%s --variable=%s --value=env://VALUE", s.OwnFile(), variable)
}

// OwnFile is the file with the environment's own credentials.
func (s *Run) OwnFile() string {
	if files := s.credentialFiles(); len(files) > 0 {
		return files[len(files)-1]
	}
	return "credentials/" + s.Env + ".enc.env"
}

func (s *Run) MarkerKey() string { return s.Env + "/environment.json" }

// Open loads the environment and makes sure that the store is its own, before
// any tool starts.
func (s *Run) Open(ctx context.Context) error {
	if err := s.Load(); err != nil {
		return err
	}
	// Refuses a missing or weak passphrase.
	if _, err := s.Encryption(); err != nil {
		return err
	}
	if s.Store == nil {
		return nil
	}
	data, err := s.Store.Read(ctx, s.MarkerKey())
	if errors.Is(err, state.ErrNone) {
		return refusal.New("dagger call bootstrap --env="+s.Env, "%s has not been prepared for environment %s", s.Store.Name(), s.Env)
	}
	if err != nil {
		return err
	}
	return s.CheckMarker(data)
}

func (s *Run) CheckMarker(data []byte) error {
	m, err := readMarker(data)
	if err != nil {
		return fmt.Errorf("the marker %s in %s is not one that this version knows", s.MarkerKey(), s.Store.Name())
	}
	if m.Environment != s.Env {
		return refusal.New("$EDITOR environments/"+s.Env+"/environment.yaml", "%s belongs to environment %q", s.Store.Name(), m.Environment)
	}
	for _, variable := range []string{state.Passphrase, state.PreviousPassphrase} {
		if m.provedBy(s.Credentials[variable]) {
			return nil
		}
	}
	return refusal.New("git log -p -- "+s.OwnFile(), "%s in the credentials of %s is not the passphrase that seals its state", state.Passphrase, s.Env)
}

func (s *Run) Encryption() (string, error) {
	return state.Encryption(s.Credentials[state.Passphrase], s.Credentials[state.PreviousPassphrase])
}

// Confirmed asks for the environment's name.
func (s *Run) Confirmed(why string) error {
	if s.Confirm == s.Env {
		return nil
	}
	command := fmt.Sprintf("dagger call %s --env=%s --confirm=%s", s.Result.Stage, s.Env, s.Env)
	if s.Confirm != "" {
		return refusal.New(command, "--confirm is %q and not the environment's name, %s", s.Confirm, s.Env)
	}
	return refusal.New(command, "%s", why)
}

// Path joins names below the work folder.
func (s *Run) Path(names ...string) string {
	return filepath.Join(append([]string{s.Work}, names...)...)
}
