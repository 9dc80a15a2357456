package credentials

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/secrets"
)

// Placeholders in a template for values that are generated.
const (
	randomValue = "<random>"
	sshKey      = "<ssh-key>"      // a private key, in OpenSSH's format
	ageIdentity = "<age-identity>" // whose public key is shown
)

// publicKeyPattern is the placeholder for the public half of a private key: in a variable of the
// same template, or of another file, which stays unreadable to those who can only plan.
var publicKeyPattern = regexp.MustCompile(`^<ssh-public-key of ([A-Za-z_][A-Za-z0-9_]*)(?: in ([^ >]+))?>$`)

// Init creates a SOPS file from its template, FILE.example. Nobody sees the values that it
// generates before they are encrypted.
func Init() run.Command {
	var file string
	return run.Command{
		Name: "secrets-init", Help: "create a SOPS file from its template, and generate the values marked <random>",
		Flags: func(f *flag.FlagSet) { f.StringVar(&file, "file", "", fileHelp) },
		Run:   func(_ context.Context, r *run.Run) error { return initFile(r, file) },
	}
}

func initFile(r *run.Run, file string) error {
	name, err := pathOf(file)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.Repository, name)); !errors.Is(err, fs.ErrNotExist) {
		return fault.Refuse("dagger call secrets check", "%s already exists", name)
	}
	template, err := os.ReadFile(filepath.Join(r.Repository, name+".example"))
	if err != nil {
		return fault.Refuse("$EDITOR "+printable.Word(name+".example"), "there is no template %s.example", name)
	}
	values, err := secrets.ReadDotenv(template)
	if err != nil {
		return fault.Refuse("$EDITOR "+printable.Word(name+".example"), "%s.example is not a dotenv file", name)
	}
	if err := copyPublicKeys(r, values); err != nil {
		return err
	}
	open, shown, err := fill(values)
	if err != nil {
		return fault.Refuse("$EDITOR "+printable.Word(name+".example"), "%s.example: %v", name, err)
	}
	recipients, err := secrets.Rule(r.Repository, name)
	if err != nil {
		return fault.Refuse("cp .sops.yaml.example .sops.yaml && $EDITOR .sops.yaml", "%v", err)
	}
	for _, variable := range open {
		delete(values, variable) // unset variables are left out
	}
	sealed, err := secrets.Seal(name, values, recipients)
	if err != nil {
		return err
	}
	fmt.Fprintf(&r.Report, "%s: created, encrypted to %s\n", name, strings.Join(recipients, ", "))
	for _, variable := range slices.Sorted(maps.Keys(shown)) {
		fmt.Fprintf(&r.Report, "the public key of %s is %s\n", variable, shown[variable])
	}
	if len(open) > 0 {
		fmt.Fprintf(&r.Report, "still to set: %s\n", strings.Join(open, ", "))
	}
	return r.LeaveChanged(name, sealed)
}

// copyPublicKeys replaces the placeholders for public keys whose private halves are in other files.
func copyPublicKeys(r *run.Run, values map[string]string) error {
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		match := publicKeyPattern.FindStringSubmatch(values[variable])
		if match == nil || match[2] == "" {
			continue
		}
		name, err := pathOf(match[2])
		if err != nil {
			return err
		}
		if values[variable], err = publicKey(r, name, match[1]); err != nil {
			return err
		}
	}
	return nil
}

// publicKey returns the public half of the private key in a variable of a SOPS file.
func publicKey(r *run.Run, name, variable string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.Repository, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault.Refuse("dagger call secrets init --file="+printable.Word(name), "there is no file %s, which has to contain %s first", name, variable)
	}
	if err != nil {
		return "", err
	}
	identity, err := run.ReadIdentity(r.IdentityFile, r.Mask)
	if err != nil {
		return "", err
	}
	values, err := secrets.Decrypt(name, data, identity)
	if err != nil {
		return "", secrets.Refuse(name, err)
	}
	r.Mask.Add(values[variable])
	key, err := ssh.ParsePrivateKey([]byte(values[variable]))
	if err != nil {
		return "", fault.Refuse(fmt.Sprintf("dagger call secrets set --file=%s --variable=%s --value=env://VALUE", printable.Word(name), variable),
			"%s in %s is not a private key, or it has a passphrase", variable, name)
	}
	return authorizedKey(key.PublicKey()), nil
}

// fill generates the values that a template asks for. It returns the variables that it leaves empty, and the public keys of the
// age identities.
func fill(values map[string]string) (open []string, shown map[string]string, err error) {
	public := map[string]string{}
	shown = map[string]string{}
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		switch values[variable] {
		case randomValue:
			values[variable] = rand.Text() + rand.Text() // 260 bits
		case sshKey:
			if values[variable], public[variable], err = newSSHKey(); err != nil {
				return nil, nil, err
			}
		case ageIdentity:
			identity, err := age.GenerateX25519Identity()
			if err != nil {
				return nil, nil, err
			}
			values[variable], shown[variable] = identity.String(), identity.Recipient().String()
		case "":
			open = append(open, variable)
		}
	}
	for variable, value := range values {
		if match := publicKeyPattern.FindStringSubmatch(value); match != nil {
			if public[match[1]] == "" {
				return nil, nil, fmt.Errorf("%s is defined as the public key of %s, which is not %s", variable, match[1], sshKey)
			}
			values[variable] = public[match[1]]
		}
	}
	return open, shown, nil
}

// newSSHKey generates a key pair: the private key in OpenSSH's format, the public key as a line of
// authorized_keys.
func newSSHKey() (private, public string, err error) {
	publicKey, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return "", "", err
	}
	line, err := ssh.NewPublicKey(publicKey)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(block)), authorizedKey(line), nil
}

func authorizedKey(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}
