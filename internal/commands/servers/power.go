package servers

import (
	"context"
	"flag"
	"fmt"
	"time"

	"slipway/internal/clouds"
	"slipway/internal/hold"
	"slipway/internal/machines"
	"slipway/internal/openstack"
	"slipway/internal/printable"
	"slipway/internal/run"
)

// Start starts every server of an environment.
func Start() run.Command {
	return run.Command{
		Name: "start", Help: "start the servers of an environment",
		Opens: run.State,
		Run: func(ctx context.Context, r *run.Run) error {
			servers, _, err := machines.Of(ctx, r)
			if err != nil {
				return err
			}
			return powerAll(ctx, r, servers, "started", (*openstack.Cloud).Start)
		},
	}
}

// Stop shuts down every server. Nothing on them is lost, and an apply starts them again.
func Stop() run.Command {
	var confirm string
	return run.Command{
		Name: "stop", Help: "shut down the servers of an environment",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&confirm, "confirm", "", "the environment's name, as confirmation, if it is protected")
		},
		Run: func(ctx context.Context, r *run.Run) error {
			servers, databases, err := machines.Of(ctx, r)
			if err != nil {
				return err
			}
			return stop(ctx, r, servers, databases, confirm)
		},
	}
}

func stop(ctx context.Context, r *run.Run, servers, databases []machines.Machine, confirm string) error {
	if r.Environment.Protected {
		if err := r.Confirmed(confirm, fmt.Sprintf("environment %s is protected, and stop shuts down its servers", r.Env)); err != nil {
			return err
		}
	}
	used := []hold.Subject{hold.Hosts(r)}
	if r.HasCluster() {
		used = append(used, hold.Nodes(r))
	}
	for _, s := range used {
		if err := hold.RefuseUsed(ctx, s); err != nil {
			return err
		}
	}
	if err := powerAll(ctx, r, servers, "stopped", (*openstack.Cloud).Stop); err != nil {
		return err
	}
	for _, m := range databases {
		fmt.Fprintf(&r.Report, "%s is a managed database: it cannot be stopped, keeps running and is still charged\n", printable.Terminal(m.Name))
	}
	return nil
}

// patience is how long a server may take to start or to stop.
const patience = 5 * time.Minute

func powerAll(ctx context.Context, r *run.Run, servers []machines.Machine, done string, change func(*openstack.Cloud, context.Context, string, time.Duration) error) error {
	if len(servers) == 0 {
		fmt.Fprintf(&r.Report, "%s has no servers\n", r.Env)
		return nil
	}
	cloud, err := clouds.Of(r).OpenStack(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, m := range servers {
		r.Say("%s …", printable.Terminal(m.Name))
		if err := change(cloud, ctx, m.ID, 2*time.Second); err != nil {
			return err
		}
		fmt.Fprintf(&r.Report, "%s is %s\n", printable.Terminal(m.Name), done)
	}
	return nil
}
