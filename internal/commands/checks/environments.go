package checks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"slipway/internal/environment"
	"slipway/internal/printable"
	"slipway/internal/refusal"
	"slipway/internal/run"
)

// Environments lists the environments and checks each one's file.
func Environments() run.Command {
	return run.Command{Name: "environments", Help: "list the environments and check the file of each", Run: environments}
}

func environments(_ context.Context, r *run.Run) error {
	repository := os.DirFS(r.Repository)
	names, err := environment.List(repository)
	if err != nil {
		return err
	}
	if err := leaveNames(r, names); err != nil {
		return err
	}
	table := tabwriter.NewWriter(&r.Report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROTECTED\tCREDENTIALS\tLAYERS\tDESCRIPTION")
	var faults []error
	for _, name := range names {
		e, err := environment.Load(repository, name)
		if err != nil {
			faults = append(faults, err)
			fmt.Fprintf(table, "%s\t?\t?\t?\tinvalid: %s\n", printable.Line(name), printable.Line(err.Error()))
			continue
		}
		protected := "no"
		if e.Protected {
			protected = "yes"
		}
		var layers []string
		for _, l := range e.Layers {
			layers = append(layers, e.LayerName(l))
		}
		credentials := "there"
		if len(e.MissingCredentials) > 0 {
			credentials = "missing"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name, protected, credentials, strings.Join(layers, ", "), printable.Line(e.Description))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(faults) == 0 {
		return nil
	}
	var first *refusal.Error
	if !errors.As(faults[0], &first) || len(faults) == 1 {
		return faults[0]
	}
	return refusal.New(first.Hint, "%s (and %d more with errors)", first.Message, len(faults)-1)
}

// leaveNames leaves the list for whoever works on each environment. A folder without a file is
// shared code.
func leaveNames(r *run.Run, names []string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := os.Stat(filepath.Join(r.Repository, "environments", name, "environment.yaml"))
		return errors.Is(err, fs.ErrNotExist)
	})
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return r.Leave("environments.json", list)
}
