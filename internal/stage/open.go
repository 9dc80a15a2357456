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

// load reads the environment and opens its credentials. Nothing is asked of any
// server yet.
func (s *session) load() error {
	repository := os.DirFS(s.Repository)
	var err error
	if s.environment, err = environment.Load(repository, s.Environment); err != nil {
		return err
	}
	if err := s.needCredentials(); err != nil {
		return err
	}
	if err := s.readIdentity(); err != nil {
		return err
	}
	s.credentials = map[string]string{}
	for _, name := range s.credentialFiles() {
		data, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		values, err := secrets.Decrypt(name, data, s.identity)
		if err != nil {
			return refuseSecrets(name, err)
		}
		for variable, value := range values {
			s.credentials[variable] = value
			if !slices.Contains(settings, variable) && redact.Whole(variable, value) {
				s.hide(value)
			}
		}
	}
	// The last file is the environment's own: who reads it may recover it, and apply a
	// plan, also one that was made with less.
	if files := s.environment.CredentialFiles; len(files) > 0 {
		own := files[len(files)-1]
		data, err := fs.ReadFile(repository, own)
		if err != nil {
			return err
		}
		if s.recipients, err = secrets.Recipients(own, data); err != nil {
			return refuseSecrets(own, err)
		}
	}
	if err := s.refuseUnset(repository); err != nil {
		return err
	}
	if n := s.redactor.Skipped(); n > 0 {
		s.say("note: %d of the credentials have fewer than 4 characters and cannot be masked", n)
	}
	if store := s.environment.State.S3; store != nil {
		for _, variable := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			if s.credentials[variable] == "" {
				return refusal.New(s.setCommand(variable), "the credentials of %s have no %s, by which the state's bucket is opened", s.Environment, variable)
			}
		}
		s.store = state.Open(s.bucket())
	}
	if s.Layer != "" {
		if !slices.ContainsFunc(s.environment.Layers, func(l environment.Layer) bool { return s.environment.LayerName(l) == s.Layer }) {
			var names []string
			for _, l := range s.environment.Layers {
				names = append(names, s.environment.LayerName(l))
			}
			return refusal.New(fmt.Sprintf("the layers of %s are %s", s.Environment, strings.Join(names, ", ")), "environment %s has no layer %q", s.Environment, s.Layer)
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
func (s *session) refuseUnset(repository fs.FS) error {
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
			if template[variable] == "" && s.credentials[variable] == "" {
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

// bucket is the state's, with the keys to it.
func (s *session) bucket() state.S3 {
	store := s.environment.State.S3
	return state.S3{
		Bucket: store.Bucket, Endpoint: store.Endpoint, Region: store.Region,
		AccessKey: s.credentials["AWS_ACCESS_KEY_ID"], SecretKey: s.credentials["AWS_SECRET_ACCESS_KEY"],
	}
}

// server keeps the state where no bucket does.
func (s *session) server() state.HTTP {
	if s.environment.State.HTTP == nil {
		return state.HTTP{}
	}
	return state.HTTP{Address: s.environment.State.HTTP.Address, Username: s.credentials["TF_HTTP_USERNAME"], Password: s.credentials["TF_HTTP_PASSWORD"]}
}

const identityHint = "put the age identity's file into .env: AGEKEY=file://$HOME/.config/sops/age/keys.txt"

func (s *session) readIdentity() error {
	text, err := os.ReadFile(s.Identity)
	if errors.Is(err, fs.ErrNotExist) {
		return refusal.New(identityHint, "no age identity is given")
	}
	if err != nil {
		return err
	}
	if s.identity, err = secrets.ParseIdentity(string(text)); err != nil {
		return refusal.New(identityHint, "%v", err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			s.hide(strings.TrimSpace(line))
		}
	}
	return nil
}

// refuseSecrets makes a refusal of what is wrong with a SOPS file.
func refuseSecrets(name string, err error) error {
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

func (s *session) setCommand(variable string) string {
	return fmt.Sprintf("dagger call secrets set --file=%s --variable=%s --value=env://VALUE", s.ownFile(), variable)
}

// ownFile is the file with the environment's own credentials.
func (s *session) ownFile() string {
	if files := s.credentialFiles(); len(files) > 0 {
		return files[len(files)-1]
	}
	return "credentials/" + s.Environment + ".enc.env"
}

func (s *session) markerKey() string { return s.Environment + "/environment.json" }

// open loads the environment and makes sure that the store is its own, before
// any tool starts.
func (s *session) open(ctx context.Context) error {
	if err := s.load(); err != nil {
		return err
	}
	// Refuses a missing or weak passphrase.
	if _, err := s.encryption(); err != nil {
		return err
	}
	if s.store == nil {
		return nil
	}
	data, err := s.store.Read(ctx, s.markerKey())
	if errors.Is(err, state.ErrNone) {
		return refusal.New("dagger call bootstrap --env="+s.Environment, "%s has not been prepared for environment %s", s.store.Name(), s.Environment)
	}
	if err != nil {
		return err
	}
	return s.checkMarker(data)
}

func (s *session) checkMarker(data []byte) error {
	m, err := readMarker(data)
	if err != nil {
		return fmt.Errorf("the marker %s in %s is not one that this version knows", s.markerKey(), s.store.Name())
	}
	if m.Environment != s.Environment {
		return refusal.New("$EDITOR environments/"+s.Environment+"/environment.yaml", "%s belongs to environment %q", s.store.Name(), m.Environment)
	}
	for _, variable := range []string{state.Passphrase, state.PreviousPassphrase} {
		if m.provedBy(s.credentials[variable]) {
			return nil
		}
	}
	return refusal.New("git log -p -- "+s.ownFile(), "%s in the credentials of %s is not the passphrase that seals its state", state.Passphrase, s.Environment)
}

func (s *session) encryption() (string, error) {
	return state.Encryption(s.credentials[state.Passphrase], s.credentials[state.PreviousPassphrase])
}

// confirmed asks for the environment's name.
func (s *session) confirmed(why string) error {
	if s.Confirm == s.Environment {
		return nil
	}
	command := fmt.Sprintf("dagger call %s --env=%s --confirm=%s", s.result.Stage, s.Environment, s.Environment)
	if s.Confirm != "" {
		return refusal.New(command, "--confirm is %q and not the environment's name, %s", s.Confirm, s.Environment)
	}
	return refusal.New(command, "%s", why)
}

// path joins names below the work folder.
func (s *session) path(names ...string) string {
	return filepath.Join(append([]string{s.Work}, names...)...)
}
