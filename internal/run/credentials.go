package run

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/redact"
	"slipway/internal/secrets"
)

// IdentityHint says how to provide the age identity.
const IdentityHint = "put the age identity's file into .env: AGEKEY=file://$HOME/.config/sops/age/keys.txt"

// ReadIdentity reads the age identity from its file and masks it.
func ReadIdentity(file string, mask *Mask) (secrets.Identity, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return secrets.Identity{}, fault.Refuse(IdentityHint, "no age identity was given")
	}
	if err != nil {
		return secrets.Identity{}, err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			mask.Add(strings.TrimSpace(line))
		}
	}
	identity, err := secrets.ParseIdentity(string(text))
	if err != nil {
		return secrets.Identity{}, fault.Refuse(IdentityHint, "%v", err)
	}
	return identity, nil
}

// openFiles decrypts SOPS files and masks their secrets. A later file wins.
func (r *Run) openFiles(repository fs.FS, files []string) error {
	r.Credentials = map[string]string{}
	for _, name := range files {
		data, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		values, err := secrets.Decrypt(name, data, r.Identity)
		if err != nil {
			return secrets.Refuse(name, err)
		}
		for variable, value := range values {
			r.Credentials[variable] = value
			if !slices.Contains(settings, variable) && redact.Whole(variable, value) {
				r.Mask.Add(value)
			}
		}
		if err := r.refuseForDeploys(name, values); err != nil {
			return err
		}
	}
	return nil
}

// settings are variables in the credentials that are not secret: masking "Default" or a region
// everywhere would only make texts unreadable.
var settings = []string{
	"AWS_DEFAULT_REGION", "AWS_REGION", "OS_AUTH_URL", "OS_DOMAIN_NAME", "OS_IDENTITY_API_VERSION", "OS_INTERFACE", "OS_PROJECT_DOMAIN_NAME",
	"OS_PROJECT_NAME", "OS_REGION_NAME", "OS_TENANT_NAME", "OS_USER_DOMAIN_NAME", "OVH_ENDPOINT", "SCW_DEFAULT_REGION", "SCW_DEFAULT_ZONE",
}

// Template reads the variables in the template of a credentials file; nil: there is none.
func Template(repository fs.FS, file string) (map[string]string, error) {
	data, err := fs.ReadFile(repository, file+".example")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	template, err := secrets.ReadDotenv(data)
	if err != nil {
		return nil, fault.Refuse("$EDITOR "+file+".example", "%s.example is not a dotenv file", file)
	}
	return template, nil
}

// refuseUnset refuses credentials in which variables of the template are not set.
func refuseUnset(repository fs.FS, files []string, credentials map[string]string) error {
	for _, name := range files {
		template, err := Template(repository, name)
		if err != nil {
			return err
		}
		var unset []string
		for _, variable := range slices.Sorted(maps.Keys(template)) {
			if template[variable] == "" && credentials[variable] == "" {
				unset = append(unset, variable)
			}
		}
		if len(unset) > 0 {
			return fault.Refuse(setCommand(name, unset[0]), "%s has no %s; credentials/README.md says where to get them", name, strings.Join(unset, ", "))
		}
	}
	return nil
}

// refuseForDeploys refuses credentials for plans that only an apply and a deploy need: anyone who
// can push a branch can use them, and would be root on the hosts. A drift check that compares the
// hosts does need them.
func (r *Run) refuseForDeploys(file string, values map[string]string) error {
	e := r.Environment
	if !r.command.Reads || e.Plan == nil || len(e.CredentialFiles) == 0 || e.Deploy != nil && e.Deploy.Drift {
		return nil
	}
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		if variable == secrets.OperatorKey || strings.HasPrefix(variable, secrets.PlaybookPrefix) {
			own := e.CredentialFiles[len(e.CredentialFiles)-1]
			return fault.Refuse(fmt.Sprintf("%s && sops unset %s '[%q]'", setCommand(own, variable), file, variable),
				"%s is for plans and contains %s: anyone who can plan could log in to the hosts or to their services", file, variable)
		}
	}
	return nil
}

// ownRecipients returns the recipients of the environment's own credentials, the last file. They
// may recover the environment and apply a plan, even a plan made with fewer credentials.
func ownRecipients(repository fs.FS, e *environment.Environment) ([]string, error) {
	if len(e.CredentialFiles) == 0 {
		return nil, nil
	}
	own := e.CredentialFiles[len(e.CredentialFiles)-1]
	data, err := fs.ReadFile(repository, own)
	if err != nil {
		return nil, err
	}
	recipients, err := secrets.Recipients(own, data)
	if err != nil {
		return nil, secrets.Refuse(own, err)
	}
	return recipients, nil
}

// credentialFiles returns the files that the command decrypts.
func (r *Run) credentialFiles() ([]string, error) {
	if r.command.Reads {
		return r.Environment.FilesToPlan(), r.Environment.NeedPlanCredentials()
	}
	return r.Environment.CredentialFiles, r.Environment.NeedCredentials()
}

// SetCommand returns the command that sets a variable in the environment's own credentials.
func (r *Run) SetCommand(variable string) string { return setCommand(r.ownFile(), variable) }

func setCommand(file, variable string) string {
	return fmt.Sprintf("dagger call secrets set --file=%s --variable=%s --value=env://VALUE", file, variable)
}

// ownFile returns the file with the environment's own credentials.
func (r *Run) ownFile() string {
	if files, _ := r.credentialFiles(); len(files) > 0 {
		return files[len(files)-1]
	}
	return "credentials/" + r.Env + ".enc.env"
}
