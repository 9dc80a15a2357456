// Nightly keeps one issue on GitHub about `make test-all`: it opens after two bad nights in a row, follows the
// ones after, and closes after a good one.
//
//	nightly RESULT REPORT
//
// RESULT is how GitHub says that the job with the tests ended: "success", or something else. REPORT is the file
// with the end of its output, .slipway/tests/report.txt; it may be missing. GitHub Actions sets the variables that
// say which run this is; GITHUB_TOKEN is a token that may read the runs of workflows and write issues.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"slipway/internal/github"
	"slipway/internal/report"
)

// after is the number of bad nights after which an issue opens: one may be bad luck of the machine.
const after = 2

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: nightly RESULT REPORT")
		os.Exit(2)
	}
	said, err := keep(context.Background(), os.Args[1], os.Args[2], os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nightly:", err)
		os.Exit(1)
	}
	fmt.Println(said)
}

// keep returns what it did.
func keep(ctx context.Context, result, file string, getenv func(string) string) (string, error) {
	run, err := github.ReadContext(getenv)
	if err != nil {
		return "", err
	}
	client, err := github.New(github.Options{API: run.API, Token: getenv("GITHUB_TOKEN")})
	if err != nil {
		return "", err
	}
	issue := github.Issue{
		Title:   "make test-all fails at night",
		Body:    fmt.Sprintf("`make test-all` passes: [the last run](%s).\n", run.RunURL),
		Closing: fmt.Sprintf("`make test-all` passes again: [this run](%s).", run.RunURL),
	}
	if result != "success" {
		before, err := client.FailuresInARow(ctx, run.Repository, "nightly.yml", "main")
		if err != nil {
			return "", err
		}
		nights := before + 1
		if nights < after {
			return fmt.Sprintf("the tests ended with %q; an issue opens after %d such nights in a row", result, after), nil
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = []byte("It ended without a report."), nil
		}
		if err != nil {
			return "", err
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		issue.Body = fmt.Sprintf("It has failed %d nights in a row. [The last run](%s) ended with %q, and keeps the output of each phase as the artifact `tests`:\n\n%s\nThis issue closes itself.\n",
			nights, run.RunURL, result, report.Block(lines, 32<<10))
		issue.Open = true
	}
	out, err := client.PutIssue(ctx, run.Repository, "nightly", issue)
	if err != nil {
		return "", err
	}
	if out.URL == "" {
		return "no issue is open, and none is needed", nil
	}
	return fmt.Sprintf("the issue is %s: %s", out.Action, out.URL), nil
}
