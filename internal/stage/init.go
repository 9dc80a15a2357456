package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/getsops/sops/v3/stores/dotenv"

	"slipway/internal/refusal"
	"slipway/internal/secrets"
)

// randomValue stands in a template for a value to be made up.
const randomValue = "<random>"

// secretsInit makes a SOPS file of its template, FILE.example. What it makes up
// is known to nobody before it is sealed.
func (s *session) secretsInit(context.Context) error {
	name, err := s.secretsFile()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.Repository, name)); !errors.Is(err, fs.ErrNotExist) {
		return refusal.New("dagger call secrets check", "%s is there already", name)
	}
	template, err := os.ReadFile(filepath.Join(s.Repository, name+".example"))
	if err != nil {
		return refusal.New("$EDITOR "+name+".example", "there is no template %s.example", name)
	}
	values, err := readDotenv(template)
	if err != nil {
		return refusal.New("$EDITOR "+name+".example", "%s.example is no dotenv file", name)
	}
	var open []string
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		switch values[variable] {
		case randomValue:
			values[variable] = rand.Text() + rand.Text() // 260 bits
		case "":
			open = append(open, variable)
		}
	}
	recipients, err := secrets.Rule(s.Repository, name)
	if err != nil {
		return refusal.New("cp .sops.yaml.example .sops.yaml && $EDITOR .sops.yaml", "%v", err)
	}
	sealed, err := secrets.Seal(name, values, recipients)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.report, "%s: made for %s\n", name, strings.Join(recipients, ", "))
	if len(open) > 0 {
		fmt.Fprintf(&s.report, "still to be set: %s\n", strings.Join(open, ", "))
	}
	return s.changed(name, sealed)
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
				values[name] = fmt.Sprint(item.Value)
			}
		}
	}
	return values, nil
}
