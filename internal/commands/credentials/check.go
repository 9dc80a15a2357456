package credentials

import (
	"context"
	"fmt"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/run"
	"slipway/internal/secrets"
)

// Check reports for each SOPS file who can read it and whether it is valid.
func Check() run.Command {
	return run.Command{
		Name: "secrets-check", Help: "check that every SOPS file is unchanged and encrypted to the recipients in .sops.yaml",
		Run: checkFiles,
	}
}

func checkFiles(_ context.Context, r *run.Run) error {
	var identity *secrets.Identity
	opened, err := run.ReadIdentity(r.IdentityFile, r.Mask)
	switch {
	case err == nil:
		identity = &opened
	case fault.Is(err, fault.Refused):
		r.Report.WriteString("no age identity was given: the MACs were not checked\n")
	default:
		return err
	}
	findings, err := secrets.Check(r.Repository, identity)
	if err != nil {
		return err
	}
	var faults []secrets.Finding
	for _, f := range findings {
		switch {
		case f.Fault != nil:
			faults = append(faults, f)
			fmt.Fprintf(&r.Report, "%s: invalid: %v\n", f.Path, f.Fault)
		case f.Opened:
			fmt.Fprintf(&r.Report, "%s: readable by %s; the MAC is correct\n", f.Path, strings.Join(f.Recipients, ", "))
		default:
			fmt.Fprintf(&r.Report, "%s: readable by %s; the MAC was not checked\n", f.Path, strings.Join(f.Recipients, ", "))
		}
	}
	if len(findings) == 0 {
		r.Report.WriteString("there are no files in credentials/\n")
	}
	if len(faults) == 0 {
		return nil
	}
	message := faults[0].Fault.Error()
	if more := len(faults) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more with errors)", more)
	}
	return fault.Refuse(faults[0].Hint, "%s", message)
}
