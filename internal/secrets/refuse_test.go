package secrets_test

import (
	"errors"
	"fmt"
	"testing"

	"slipway/internal/fault"
	"slipway/internal/must"
	"slipway/internal/secrets"
)

// A faulty SOPS file is refused with the command that fixes it, whatever its name.
func TestRefuseSecrets(t *testing.T) {
	const name = "credentials/a b.enc.env"
	for hint, err := range map[string]error{
		"ask one of its readers to add you to .sops.yaml and to run: dagger call secrets update-keys --file='" + name + "'":                      &secrets.ForeignError{Path: name},
		"git log -p -- '" + name + "'; if it is meant: dagger call secrets set --file='" + name + "' --variable=OS_PASSWORD --value=env://EMPTY": &secrets.UndeclaredError{Path: name, Variable: "OS_PASSWORD"},
		"encrypt it before it is committed: sops --encrypt --in-place '" + name + "'":                                                            fmt.Errorf("%s %w", name, secrets.ErrPlain),
		"git log -- '" + name + "'": errors.New("it was changed without sops"),
	} {
		got := secrets.Refuse(name, err)
		must.Refuse(t, got, err.Error(), hint)
		if refused, ok := fault.Refusal(got); ok && refused.Hint != hint {
			t.Errorf("the hint is %q, want %q", refused.Hint, hint)
		}
	}
}
