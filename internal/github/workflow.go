package github

import (
	"context"
	"fmt"

	api "github.com/google/go-github/v74/github"
)

// FailuresInARow returns how many of the last completed runs of a workflow on a branch did not succeed, up to
// 100. The repository is owner/name, and the workflow is its file's name. A run that was cancelled or timed
// out did not succeed. It waits and fails as PutComment does.
//
// https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-workflow
func (c *Client) FailuresInARow(ctx context.Context, repository, workflow, branch string) (int, error) {
	in, err := parseRepository(repository)
	if err != nil {
		return 0, err
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	failures := 0
	err = c.repeat(ctx, fmt.Sprintf("list the runs of %s in %s", workflow, in), func() error {
		options := &api.ListWorkflowRunsOptions{Branch: branch, Status: "completed", ListOptions: api.ListOptions{PerPage: 100}}
		runs, _, err := c.api.Actions.ListWorkflowRunsByFileName(ctx, in.owner, in.name, workflow, options)
		if err != nil {
			return err
		}
		failures = 0
		for _, run := range runs.WorkflowRuns {
			if run.GetConclusion() == "success" {
				break
			}
			failures++
		}
		return nil
	})
	return failures, err
}
