package stage

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
)

// summaryName is what a plan leaves in /out for the comment: a report.Environment.
const summaryName = "summary.json"

// commentKind is in the marker of the comment.
const commentKind = "plans"

// comment shows the plans of all environments in one comment on the pull request,
// and prints the same for the summary of the job. It fails if one of them could
// not be planned.
func (s *session) comment(ctx context.Context) error {
	names, err := s.resultFolders()
	if err != nil {
		return err
	}
	r := report.Report{Whole: "dagger call plan --env=…"}
	var failed []string
	for _, name := range names {
		e, err := s.readSummary(name)
		if err != nil {
			return err
		}
		if e.Error != "" {
			failed = append(failed, name)
		}
		r.Environments = append(r.Environments, e)
	}
	run, err := s.githubContext()
	if err != nil && !s.GitHub.DryRun {
		return err
	}
	heading, footer := "## Plans\n\n", ""
	if run.RunURL != "" {
		commit := ""
		if run.Head != "" {
			commit = " of " + run.Head[:7]
		}
		footer = fmt.Sprintf("\nBy [this run](%s)%s. After the merge it is planned once more, and the plan whose digest is approved then is applied.\n", run.RunURL, commit)
	}
	body := heading + report.Markdown(r, github.Room(commentKind)-len(heading)-len(footer)) + footer
	s.report.WriteString(body)
	if !s.GitHub.DryRun {
		if err := s.putComment(ctx, run, body); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("could not be planned: %s", strings.Join(failed, ", "))
	}
	return nil
}

// putComment writes to the pull request, where there is one that takes it.
func (s *session) putComment(ctx context.Context, run github.Context, body string) error {
	switch {
	case run.Pull == 0:
		s.say("the event %s has no pull request to comment on", run.Event)
		return nil
	case run.Fork:
		s.say("pull request %d comes from a fork, whose runs may not comment", run.Pull)
		return nil
	}
	client, err := s.githubClient(run)
	if err != nil {
		return err
	}
	// Once more through the redactor, which knows the token by now.
	out, err := client.PutComment(ctx, run.Repository, run.Pull, commentKind, s.redactor.String(body))
	if err != nil {
		return err
	}
	s.say("the comment is %s: %s", out.Action, out.URL)
	return nil
}

// readSummary reads what the plan of an environment left. One that left nothing
// has failed.
func (s *session) readSummary(name string) (report.Environment, error) {
	data, err := os.ReadFile(filepath.Join(s.GitHub.Results, name, summaryName))
	if errors.Is(err, fs.ErrNotExist) {
		return report.Environment{Name: name, Error: "its plan ended without a result", Hint: "look at the log of its job"}, nil
	}
	if err != nil {
		return report.Environment{}, err
	}
	var e report.Environment
	if err := json.Unmarshal(data, &e); err != nil || e.Name != name || e.Version > report.Version {
		return report.Environment{}, fmt.Errorf("the summary of %s is not one that this version knows", name)
	}
	return e, nil
}
