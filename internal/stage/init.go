package stage

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/getsops/sops/v3/stores/dotenv"
	"golang.org/x/crypto/ssh"

	"slipway/internal/printable"
	"slipway/internal/refusal"
	"slipway/internal/secrets"
)

// What stands in a template for a value to be made up.
const (
	randomValue  = "<random>"
	sshKey       = "<ssh-key>"           // a private key, in OpenSSH's form
	sshPublicKey = "<ssh-public-key of " // NAME>, the variable with the private one
)

// secretsInit makes a SOPS file of its template, FILE.example. What it makes up
// is known to nobody before it is sealed.
func (s *Run) secretsInit(context.Context) error {
	name, err := s.secretsFile()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.Repository, name)); !errors.Is(err, fs.ErrNotExist) {
		return refusal.New("dagger call secrets check", "%s is there already", name)
	}
	template, err := os.ReadFile(filepath.Join(s.Repository, name+".example"))
	if err != nil {
		return refusal.New("$EDITOR "+printable.Word(name+".example"), "there is no template %s.example", name)
	}
	values, err := readDotenv(template)
	if err != nil {
		return refusal.New("$EDITOR "+printable.Word(name+".example"), "%s.example is no dotenv file", name)
	}
	open, err := fill(values)
	if err != nil {
		return refusal.New("$EDITOR "+printable.Word(name+".example"), "%s.example: %v", name, err)
	}
	recipients, err := secrets.Rule(s.Repository, name)
	if err != nil {
		return refusal.New("cp .sops.yaml.example .sops.yaml && $EDITOR .sops.yaml", "%v", err)
	}
	for _, variable := range open {
		delete(values, variable) // what is not set is not there
	}
	sealed, err := secrets.Seal(name, values, recipients)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.Report, "%s: made for %s\n", name, strings.Join(recipients, ", "))
	if len(open) > 0 {
		fmt.Fprintf(&s.Report, "still to be set: %s\n", strings.Join(open, ", "))
	}
	return s.LeaveChanged(name, sealed)
}

// fill makes up the values that a template asks for, and names the variables that
// are left empty.
func fill(values map[string]string) (open []string, err error) {
	public := map[string]string{}
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		switch values[variable] {
		case randomValue:
			values[variable] = rand.Text() + rand.Text() // 260 bits
		case sshKey:
			if values[variable], public[variable], err = newSSHKey(); err != nil {
				return nil, err
			}
		case "":
			open = append(open, variable)
		}
	}
	for variable, value := range values {
		if of, ok := strings.CutPrefix(value, sshPublicKey); ok {
			of = strings.TrimSuffix(of, ">")
			if public[of] == "" {
				return nil, fmt.Errorf("%s is to be the public key of %s, which is not %s", variable, of, sshKey)
			}
			values[variable] = public[of]
		}
	}
	return open, nil
}

// newSSHKey makes up a key pair: the private key in OpenSSH's form, the public one
// as a line of authorized_keys.
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
	return string(pem.EncodeToMemory(block)), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line))), nil
}

// readDotenv returns the variables of a plain dotenv file.
func readDotenv(data []byte) (map[string]string, error) {
	branches, err := (&dotenv.Store{}).LoadPlainFile(data)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, branch := range branches {
		for _, item := range branch {
			if name, ok := item.Key.(string); ok {
				if _, twice := values[name]; twice {
					return nil, fmt.Errorf("%s is in it twice", name)
				}
				values[name] = fmt.Sprint(item.Value)
			}
		}
	}
	return values, nil
}
