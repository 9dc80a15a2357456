package secrets

import (
	"errors"
	"fmt"

	"slipway/internal/fault"
	"slipway/internal/printable"
)

// Refuse turns a fault of the SOPS file called name into a refusal.
func Refuse(name string, err error) error {
	var foreign *ForeignError
	var undeclared *UndeclaredError
	switch {
	case errors.As(err, &foreign):
		return fault.Refuse("ask one of its readers to add you to .sops.yaml and to run: dagger call secrets update-keys --file="+printable.Word(name), "%v", err)
	case errors.As(err, &undeclared):
		return fault.Refuse(fmt.Sprintf("git log -p -- %s; if it is meant: dagger call secrets set --file=%s --variable=%s --value=env://EMPTY", printable.Word(name), printable.Word(name), undeclared.Variable), "%v", err)
	case errors.Is(err, ErrPlain):
		return fault.Refuse("encrypt it before it is committed: sops --encrypt --in-place "+printable.Word(name), "%v", err)
	}
	return fault.Refuse("git log -- "+printable.Word(name), "%v", err)
}
