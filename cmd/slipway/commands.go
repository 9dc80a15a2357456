package main

import (
	"slipway/internal/commands/apply"
	"slipway/internal/commands/checks"
	"slipway/internal/commands/clusters"
	"slipway/internal/commands/credentials"
	"slipway/internal/commands/deployment"
	"slipway/internal/commands/flux"
	"slipway/internal/commands/inspect"
	"slipway/internal/commands/lockfile"
	"slipway/internal/commands/publishing"
	"slipway/internal/commands/recovery"
	"slipway/internal/commands/review"
	"slipway/internal/commands/servers"
	"slipway/internal/run"
)

// commands are all commands of the runner, in help order.
var commands = []func() run.Command{
	apply.Up, apply.Bootstrap, review.Plan, review.Approve, apply.Apply, deployment.Deploy, deployment.Verify, apply.Destroy, apply.Down,
	inspect.Drift, inspect.Output, inspect.StateList, servers.Status, servers.Start, servers.Stop, servers.SSH,
	clusters.Secrets, clusters.Config, clusters.Bootstrap, clusters.Status, clusters.Health, clusters.Logs, clusters.Kubeconfig, clusters.Talosconfig, clusters.Kubectl, clusters.Talosctl, clusters.Helm,
	flux.Install, flux.Status, flux.Reconcile, flux.Suspend, flux.Resume,
	recovery.Recover, recovery.Unlock,
	checks.Environments, checks.Fmt, checks.Validate, checks.Lint, checks.Test, lockfile.LockProviders,
	credentials.Check, credentials.Init, credentials.Set, credentials.Edit, credentials.Rotate, credentials.UpdateKeys,
	publishing.Report, publishing.DriftIssues,
}

// find returns the command of that name.
func find(name string) (c run.Command, ok bool) {
	for _, f := range commands {
		if c := f(); c.Name == name {
			return c, true
		}
	}
	return run.Command{}, false
}
