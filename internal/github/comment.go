package github

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	api "github.com/google/go-github/v74/github"
)

// PutComment ensures that an issue or pull request has exactly one comment of that kind by us, with
// this body. The repository is owner/name; kind consists of lower-case letters, digits, hyphens,
// dots and slashes; body has at most Room(kind) characters. An existing comment is edited in place,
// or left alone if the body is the same; of several, the oldest is kept.
//
// It waits for GitHub's rate limits until ctx ends, or for 5 minutes if ctx has no deadline. Errors
// include GitHub's last response.
func (c *Client) PutComment(ctx context.Context, repository string, number int, kind, body string) (Outcome, error) {
	in, err := parseRepository(repository)
	if err != nil {
		return Outcome{}, err
	}
	if number < 1 {
		return Outcome{}, fmt.Errorf("there is no pull request or issue %d in %s", number, repository)
	}
	what := fmt.Sprintf("put the comment %s on %s#%d", kind, in, number)
	text, err := marked(kind, body)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", what, err)
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	out := Outcome{Action: Unchanged}
	if err := c.repeat(ctx, what, func() error { return c.putComment(ctx, in, number, kind, text, &out) }); err != nil {
		return Outcome{}, err
	}
	return out, nil
}

// putComment checks what is there and does what remains to be done. Repeating it gives the same
// result, and out then describes everything that it did.
func (c *Client) putComment(ctx context.Context, in repository, number int, kind, text string, out *Outcome) error {
	mine, err := c.comments(ctx, in, number, func(text string) bool { return isMarked(kind, text) })
	if err != nil {
		return err
	}
	if len(mine) == 0 {
		// Set this even if the response is lost: the next check shows whether it was created.
		out.Action = Created
		created, _, err := c.api.Issues.CreateComment(ctx, in.owner, in.name, number, &api.IssueComment{Body: &text})
		out.URL = created.GetHTMLURL()
		return err
	}
	kept := mine[0]
	out.URL = kept.GetHTMLURL()
	if tidy(kept.GetBody()) != text {
		out.Action = Updated
		_, _, err := c.api.Issues.EditComment(ctx, in.owner, in.name, kept.GetID(), &api.IssueComment{Body: &text})
		if statusOf(err) == http.StatusNotFound {
			return errGone
		}
		if err != nil {
			return err
		}
	}
	for _, duplicate := range mine[1:] {
		_, err := c.api.Issues.DeleteComment(ctx, in.owner, in.name, duplicate.GetID())
		if statusOf(err) == http.StatusNotFound {
			continue
		}
		if err != nil {
			return err
		}
		out.Removed++
	}
	return nil
}

// comments returns our comments on an issue or pull request that match, oldest first.
func (c *Client) comments(ctx context.Context, in repository, number int, match func(text string) bool) ([]*api.IssueComment, error) {
	author, err := c.authorID(ctx)
	if err != nil {
		return nil, err
	}
	var mine []*api.IssueComment
	options := &api.IssueListCommentsOptions{ListOptions: api.ListOptions{PerPage: 100}}
	for {
		page, response, err := c.api.Issues.ListComments(ctx, in.owner, in.name, number, options)
		if err != nil {
			return nil, err
		}
		for _, comment := range page {
			if comment.GetUser().GetID() == author && match(comment.GetBody()) {
				mine = append(mine, comment)
			}
		}
		if response.NextPage <= options.Page {
			break
		}
		options.Page = response.NextPage
	}
	slices.SortFunc(mine, func(a, b *api.IssueComment) int { return cmp.Compare(a.GetID(), b.GetID()) })
	return mine, nil
}
