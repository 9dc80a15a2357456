package servers

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"slipway/internal/clouds"
	"slipway/internal/machines"
	"slipway/internal/printable"
	"slipway/internal/run"
)

// Status shows the servers and databases of an environment and their status.
func Status() run.Command {
	return run.Command{
		Name: "status", Help: "show the servers and databases of an environment, and whether they are running",
		Opens: run.State, Reads: true,
		Run: func(ctx context.Context, r *run.Run) error {
			servers, databases, err := machines.Of(ctx, r)
			if err != nil {
				return err
			}
			return showMachines(ctx, r, servers, databases)
		},
	}
}

func showMachines(ctx context.Context, r *run.Run, servers, databases []machines.Machine) error {
	if len(servers)+len(databases) == 0 {
		fmt.Fprintf(&r.Report, "%s has no servers and no databases\n", r.Env)
		return nil
	}
	table := tabwriter.NewWriter(&r.Report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATUS\tADDRESS\tRESOURCE")
	row := func(m machines.Machine, status, address string) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", printable.Terminal(m.Name), printable.Terminal(strings.ToLower(status)), printable.Terminal(address), printable.Terminal(m.Address))
	}
	clouds := clouds.Of(r)
	// An environment with only one kind needs no credentials for the other.
	if len(servers) > 0 {
		cloud, err := clouds.OpenStack(ctx)
		if err != nil {
			return err
		}
		for _, m := range servers {
			server, err := cloud.Get(ctx, m.ID)
			if err != nil {
				return err
			}
			row(m, server.Status, server.Address)
		}
	}
	if len(databases) > 0 {
		account, err := clouds.OVH()
		if err != nil {
			return err
		}
		for _, m := range databases {
			database, err := account.Get(ctx, m.Project, m.Engine, m.ID)
			if err != nil {
				return err
			}
			row(m, database.Status, database.Address)
		}
	}
	return table.Flush()
}
