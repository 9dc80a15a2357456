package publishing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"slipway/internal/github"
	"slipway/internal/report"
	"slipway/internal/run"
)

// commentKind is part of the comment's marker.
const commentKind = "plans"

// Report shows the plans of all environments in one comment on the pull request, and prints the
// same for the job summary. It fails if one of them could not be planned.
func Report() run.Command {
	var o githubOptions
	return run.Command{
		Name: "report", Help: "show the plans of all environments in one comment on the pull request",
		Flags: o.flags,
		Run:   func(ctx context.Context, r *run.Run) error { return comment(ctx, r, o) },
	}
}

func comment(ctx context.Context, r *run.Run, o githubOptions) error {
	names, err := resultFolders(o)
	if err != nil {
		return err
	}
	plans := report.Report{Whole: "dagger call plan --env=…"}
	var failed []string
	for _, name := range names {
		e, err := readSummary(o, name)
		if err != nil {
			return err
		}
		if e.Error != "" {
			failed = append(failed, name)
		}
		plans.Environments = append(plans.Environments, e)
	}
	run, err := githubContext(o)
	if err != nil && !o.dryRun {
		return err
	}
	heading, footer := "## Plans\n\n", ""
	if run.RunURL != "" {
		commit := ""
		if run.Head != "" {
			commit = " of " + run.Head[:7]
		}
		footer = fmt.Sprintf("\nBy [this run](%s)%s. After the merge it is planned again, and the plan whose digest is approved then is applied.\n", run.RunURL, commit)
	}
	body := heading + report.Markdown(plans, github.Room(commentKind)-len(heading)-len(footer)) + footer
	r.Report.WriteString(body)
	if !o.dryRun {
		if err := putComment(ctx, r, o, run, body); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("could not be planned: %s", strings.Join(failed, ", "))
	}
	return nil
}

// putComment comments on the pull request, if there is one that accepts comments.
func putComment(ctx context.Context, r *run.Run, o githubOptions, run github.Context, body string) error {
	switch {
	case run.Pull == 0:
		r.Say("the event %s has no pull request to comment on", run.Event)
		return nil
	case run.Fork:
		r.Say("pull request %d comes from a fork, whose runs may not comment", run.Pull)
		return nil
	}
	client, err := githubClient(r, o, run)
	if err != nil {
		return err
	}
	// Mask the text again: only now is the token known to the mask.
	out, err := client.PutComment(ctx, run.Repository, run.Pull, commentKind, r.Mask.String(body))
	if err != nil {
		return err
	}
	r.Say("the comment is %s: %s", out.Action, out.URL)
	return nil
}

// readSummary reads the result of an environment's plan. A plan without a result has failed.
func readSummary(o githubOptions, name string) (report.Environment, error) {
	data, err := os.ReadFile(filepath.Join(o.results, name, report.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return report.Environment{Name: name, Error: "its plan ended without a result", Hint: "see the log of its job"}, nil
	}
	if err != nil {
		return report.Environment{}, err
	}
	var e report.Environment
	if err := json.Unmarshal(data, &e); err != nil || e.Name != name || e.Version > report.Version {
		return report.Environment{}, fmt.Errorf("the summary of %s has a version that is not supported", name)
	}
	return e, nil
}
