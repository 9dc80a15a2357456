package checks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"slipway/internal/cluster"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/printable"
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
	if err := leaveEntries(r, names); err != nil {
		return err
	}
	table := tabwriter.NewWriter(&r.Report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROTECTED\tCREDENTIALS\tLAYERS\tDESCRIPTION")
	var faults []error
	for _, name := range names {
		e, err := environment.Load(repository, name)
		var hasCluster bool
		if err == nil {
			hasCluster, err = checkCluster(repository, name)
		}
		if _, of := flux.Load(repository, name); err == nil && !errors.Is(of, flux.ErrNone) {
			err = of
		}
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
		if hasCluster {
			layers = append(layers, cluster.FileName)
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
	first, ok := fault.Refusal(faults[0])
	if !ok || len(faults) == 1 {
		return faults[0]
	}
	return fault.Refuse(first.Hint, "%w (and %d more with errors)", first, len(faults)-1)
}

// checkCluster checks the cluster of an environment, and reports whether it has one.
func checkCluster(repository fs.FS, name string) (has bool, err error) {
	_, _, err = cluster.Load(repository, name)
	if errors.Is(err, cluster.ErrNone) {
		return false, nil
	}
	return true, err
}

// An entry is what the caller of the runner has to know of an environment to choose a container.
type entry struct {
	Name    string `json:"name"`
	Ansible bool   `json:"ansible"` // its drift check runs Ansible too
}

// leaveEntries leaves the list for whoever works on each environment. A folder without a file is
// shared code.
func leaveEntries(r *run.Run, names []string) error {
	entries := []entry{}
	for _, name := range names {
		_, err := os.Stat(filepath.Join(r.Repository, "environments", name, "environment.yaml"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		e, err := environment.Load(os.DirFS(r.Repository), name)
		entries = append(entries, entry{name, err == nil && e.Deploy != nil && e.Deploy.Drift})
	}
	list, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	return r.Leave("environments.json", list)
}
