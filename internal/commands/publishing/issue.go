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
	"time"

	"slipway/internal/drift"
	"slipway/internal/github"
	"slipway/internal/report"
	"slipway/internal/run"
)

// DriftIssues keeps one issue for each environment that does not match its code or could not be
// checked. An issue that cannot be written does not stop the others.
func DriftIssues() run.Command {
	var o githubOptions
	return run.Command{
		Name: "drift-issues", Help: "keep an issue for each environment that does not match its code",
		Flags: o.flags,
		Run:   func(ctx context.Context, r *run.Run) error { return driftIssues(ctx, r, o) },
	}
}

func driftIssues(ctx context.Context, r *run.Run, o githubOptions) error {
	names, err := resultFolders(o)
	if err != nil {
		return err
	}
	run, err := githubContext(o)
	if err != nil && !o.dryRun {
		return err
	}
	var client *github.Client
	if !o.dryRun {
		if client, err = githubClient(r, o, run); err != nil {
			return err
		}
	}
	var faults []error
	for _, name := range names {
		check, err := readCheck(r, o, name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		issue := driftIssue(check, run)
		switch {
		case issue.Open && check.Hits < check.After:
			fmt.Fprintf(&r.Report, "%s: %s; an issue opens after %d such checks in a row, and this is number %d\n", name, check.Headline(), check.After, check.Hits)
		case o.dryRun && !issue.Open:
			fmt.Fprintf(&r.Report, "%s: would close the issue, if there is one\n", name)
		case o.dryRun:
			fmt.Fprintf(&r.Report, "%s: would open or update the issue\n\n# %s\n\n%s\n", name, issue.Title, issue.Body)
		default:
			issue.Body = r.Mask.String(issue.Body)
			out, err := client.PutIssue(ctx, run.Repository, "drift/"+name, issue)
			if err != nil {
				faults = append(faults, err)
				continue
			}
			if out.URL == "" {
				fmt.Fprintf(&r.Report, "%s: no issue is open, and none is needed\n", name)
				continue
			}
			fmt.Fprintf(&r.Report, "%s: the issue is %s: %s\n", name, out.Action, out.URL)
		}
	}
	return errors.Join(faults...)
}

// driftIssue returns the wanted issue of an environment.
func driftIssue(check drift.Check, run github.Context) github.Issue {
	by := check.Time.Format(time.DateTime) + " UTC"
	if run.RunURL != "" {
		by = fmt.Sprintf("%s by [this run](%s)", by, run.RunURL)
	}
	title := "Environment " + check.Environment + " " + check.Headline()
	const room = 48 << 10 // bytes; more than anybody reads
	if check.Status == drift.Clean {
		notes := "" // such as that the nodes were not asked
		if check.Cluster != nil && len(check.Cluster.Noted) > 0 {
			notes = "\n" + report.Block(check.Cluster.Noted, room)
		}
		return github.Issue{
			Title:   title,
			Body:    "The environment matches its code. Last checked at " + by + ".\n" + notes,
			Closing: "The environment matches its code again, as of " + by + ".\n" + notes,
		}
	}
	var b strings.Builder
	if check.Status == drift.Unchecked {
		b.WriteString("It is not known whether the environment matches its code, because the check fails:\n\n")
		b.WriteString(check.Block(room))
	} else {
		legend := "`!` was changed in the cloud, `~` was changed in the code and is not applied yet:\n\n"
		if check.Cluster != nil {
			legend = "`!` was changed in the cloud or on a node, `~` was changed in the code and is not applied yet, `?` is one of both:\n\n"
		}
		b.WriteString(legend)
		b.WriteString(check.Block(room))
		fmt.Fprintf(&b, "\n`dagger call plan --env=%s` shows what an apply would do about it. Expected changes can be listed in `environments/%[1]s/environment.yaml`, under `drift`.\n", check.Environment)
	}
	fmt.Fprintf(&b, "\nFound %s in a row, the last time %s. This issue closes itself.\n", times(check.Hits), by)
	return github.Issue{Title: title, Body: b.String(), Open: true}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// readCheck reads the result of an environment's drift check. A check without a result has failed.
func readCheck(r *run.Run, o githubOptions, name string) (drift.Check, error) {
	data, err := os.ReadFile(filepath.Join(o.results, name, drift.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return drift.Check{
			Environment: name, Status: drift.Unchecked, Time: r.Begun.UTC(), Hits: 1, After: 1,
			Error: "it ended without a result", Hint: "see the log of the run",
		}, nil
	}
	if err != nil {
		return drift.Check{}, err
	}
	var c drift.Check
	if err := json.Unmarshal(data, &c); err != nil || c.Version != 1 || c.Environment != name {
		return drift.Check{}, fmt.Errorf("the check of %s has a version that is not supported", name)
	}
	return c, nil
}
