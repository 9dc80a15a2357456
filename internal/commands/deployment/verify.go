package deployment

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"slipway/internal/clouds"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/machines"
	"slipway/internal/run"
	"slipway/internal/verify"
)

// Verify runs the checks that environment.yaml names, from outside.
func Verify() run.Command {
	var only, confirm string
	return run.Command{
		Name: "verify", Help: "check the deployed system from outside, as environment.yaml says",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&only, "only", "", "only these checks, comma-separated: https, flow, reboot")
			f.StringVar(&confirm, "confirm", "", "the environment's name, as confirmation, if it is protected and a host is rebooted")
		},
		Run: func(ctx context.Context, r *run.Run) error { return verifySystem(ctx, r, only, confirm) },
	}
}

func verifySystem(ctx context.Context, r *run.Run, only, confirm string) error {
	checks, err := chosen(r, only)
	if err != nil {
		return err
	}
	if r.Environment.Protected && slices.Contains(checks, verify.Reboot) {
		if err := r.Confirmed(confirm, fmt.Sprintf("environment %s is protected, and the check reboot cuts the power of %s", r.Env, r.Environment.Verify.Reboot.Host)); err != nil {
			return err
		}
	}
	v := &verify.Verifier{Run: r, Settings: r.Environment.Verify}
	if slices.Contains(checks, verify.Reboot) {
		if err := hold.RefuseUsed(ctx, hold.Hosts(r)); err != nil {
			return err
		}
		if v.Cut, err = cutter(ctx, r); err != nil {
			return err
		}
	}
	return v.All(ctx, checks)
}

// chosen returns the checks to run, in their order.
func chosen(r *run.Run, only string) ([]string, error) {
	settings := r.Environment.Verify
	if settings == nil {
		return nil, fault.Refuse("$EDITOR environments/"+r.Env+"/environment.yaml   # verify: {https: {url: …}}", "environment %s has no checks", r.Env)
	}
	named := verify.Named(settings)
	if only == "" {
		return named, nil
	}
	var list []string
	for check := range strings.SplitSeq(only, ",") {
		if !slices.Contains(named, check) {
			return nil, fault.Refuse("dagger call verify --env="+r.Env+" --only="+named[0], "environment %s has no check %q; it has %s", r.Env, check, strings.Join(named, ", "))
		}
		list = append(list, check)
	}
	return list, nil
}

// cutter returns the function that cuts a host's power.
func cutter(ctx context.Context, r *run.Run) (func(context.Context, string) error, error) {
	servers, _, err := machines.Of(ctx, r)
	if err != nil {
		return nil, err
	}
	server, err := toReboot(r, servers)
	if err != nil {
		return nil, err
	}
	cloud, err := clouds.Of(r).OpenStack(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ string) error { return cloud.Reboot(ctx, server.ID) }, nil
}

// toReboot returns the one of the servers that environment.yaml names.
func toReboot(r *run.Run, servers []machines.Machine) (machines.Machine, error) {
	host := r.Environment.Verify.Reboot.Host
	names := []string{}
	var found []machines.Machine
	for _, m := range servers {
		if m.Name == host {
			found = append(found, m)
		}
		names = append(names, m.Name)
	}
	if len(found) != 1 {
		return machines.Machine{}, fault.Refuse("$EDITOR environments/"+r.Env+"/environment.yaml", "verify.reboot.host is %q, want the name of one server; the OpenStack servers of %s are %q", host, r.Env, names)
	}
	return found[0], nil
}
