package credentials

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"slipway/internal/cluster"
	"slipway/internal/environment"
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
	if err := noteShared(r, findings); err != nil {
		return err
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

// noteShared names environments whose credentials for plans are split off for nothing: no key reads
// them without reading the environment's own, too. It also names keys for plans that read the secrets of
// machines.
func noteShared(r *run.Run, findings []secrets.Finding) error {
	readers := map[string][]string{}
	for _, f := range findings {
		readers[f.Path] = f.Recipients
	}
	repository := os.DirFS(r.Repository)
	names, err := environment.List(repository)
	if fault.Is(err, fault.Refused) {
		return nil // there are no environments
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		e, err := environment.Load(repository, name) // `environments` says what is wrong with it
		if err != nil || len(e.PlanCredentialFiles) == 0 || len(e.CredentialFiles) == 0 {
			continue
		}
		own := e.CredentialFiles[len(e.CredentialFiles)-1]
		onlyPlans := func(reader string) bool { return !slices.Contains(readers[own], reader) }
		plans := e.PlanCredentialFiles[len(e.PlanCredentialFiles)-1]
		if !slices.ContainsFunc(readers[plans], onlyPlans) {
			fmt.Fprintf(&r.Report, "note: everyone who can read %s can also read %s: CI has no key that can only plan %s\n", plans, own, name)
		}
		machines := cluster.SecretsFile(name)
		if i := slices.IndexFunc(readers[machines], func(reader string) bool { return onlyPlans(reader) && slices.Contains(readers[plans], reader) }); i >= 0 {
			fmt.Fprintf(&r.Report, "note: %s only plans %s, and can read %s: whoever has it controls the machines\n", readers[machines][i], name, machines)
		}
	}
	return nil
}
