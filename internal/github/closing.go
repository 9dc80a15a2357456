package github

import (
	"context"
	"errors"

	api "github.com/google/go-github/v74/github"
)

// closeIssue comments on an open issue and closes it. The comment comes first, so that whoever is
// notified of the closing finds the reason.
func (c *Client) closeIssue(ctx context.Context, what string, in repository, key string, want Issue, out *Outcome) error {
	var open []*api.Issue
	err := c.repeat(ctx, what, func() error {
		var closed []*api.Issue
		var err error
		open, closed, err = c.issues(ctx, in, key)
		if len(open) == 0 && len(closed) > 0 {
			out.URL = closed[0].GetHTMLURL()
		}
		return err
	})
	if err != nil || len(open) == 0 {
		return err
	}
	out.URL = open[0].GetHTMLURL()
	if want.Closing != "" {
		if err := c.say(ctx, what, in, open[0].GetNumber(), want.Closing); err != nil {
			return err
		}
	}
	// Closing a closed issue again changes nothing, so there is no need to check.
	return c.repeat(ctx, what, func() error {
		err := c.edit(ctx, in, open[0], &api.IssueRequest{
			Title: &want.Title, Body: &want.Body, State: api.Ptr("closed"), StateReason: api.Ptr("completed"),
		})
		if err != nil && !errors.Is(err, errGone) {
			return err
		}
		out.Action, out.Removed = Closed, 0
		return c.closeDuplicates(ctx, in, open[1:], out)
	})
}

// say adds a comment. An identical one may exist from an earlier occasion, so when a response is
// lost it compares the number of identical comments before and after.
func (c *Client) say(ctx context.Context, what string, in repository, number int, text string) error {
	before := -1
	return c.repeat(ctx, what, func() error {
		equal, err := c.comments(ctx, in, number, func(is string) bool { return tidy(is) == text })
		if err != nil {
			return err
		}
		if before < 0 {
			before = len(equal)
		} else if len(equal) > before {
			return nil
		}
		_, _, err = c.api.Issues.CreateComment(ctx, in.owner, in.name, number, &api.IssueComment{Body: &text})
		return err
	})
}
