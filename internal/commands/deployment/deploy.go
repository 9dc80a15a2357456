// Package deployment contains the command that configures the hosts: deploy.
package deployment

import (
	"context"
	"flag"
	"slices"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/playbook"
	"slipway/internal/run"
)

// Deploy runs the environment's playbook on its hosts. With --check it changes nothing and shows
// what it would change.
func Deploy() run.Command {
	var o playbook.Options
	return run.Command{
		Name: "deploy", Help: "configure the hosts of an environment with its Ansible playbook",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.BoolVar(&o.Check, "check", false, "change nothing, and show what would change")
			f.StringVar(&o.Limit, "limit", "", "only these hosts and groups, comma-separated")
			f.StringVar(&o.Tags, "tags", "", "only the tasks with one of these tags, comma-separated")
			f.StringVar(&o.Commit, "commit", "", "commit of the files, for the journal")
			f.StringVar(&o.Log, "log", playbook.LogTasks, "what to show while it runs: a line per task (tasks), a line per play (plays), or all that Ansible prints (debug)")
		},
		Run: func(ctx context.Context, r *run.Run) error { return deploy(ctx, r, o) },
	}
}

func deploy(ctx context.Context, r *run.Run, o playbook.Options) error {
	if logs := []string{playbook.LogTasks, playbook.LogPlays, playbook.LogDebug}; !slices.Contains(logs, o.Log) {
		return fault.Refuse("--log="+logs[0], "--log is %q, want one of %s", o.Log, strings.Join(logs, ", "))
	}
	site, err := playbook.Open(ctx, r)
	if err != nil {
		return err
	}
	done, err := site.Deploy(ctx, o)
	if done != nil {
		site.Show(done, o.Check)
		r.Changed = o.Check && len(done.Changes) > 0
	}
	return err
}
