package github

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	api "github.com/google/go-github/v74/github"
)

// PutComment sees to it that an issue or pull request has exactly one comment of
// that kind by us, and that it says body. The repository is owner/name; kind is
// of small letters, digits, hyphens, dots and slashes; body has at most Room(kind)
// characters. What is there already is edited in place, and left alone if it says
// the same; of several, the oldest stays.
//
// It waits out the limits of GitHub while ctx lasts, 5 minutes if that has no
// end. Errors say what GitHub answered last.
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

// putComment looks, and does what is left to do. It may be repeated with the same
// outcome, which then tells of all that it did.
func (c *Client) putComment(ctx context.Context, in repository, number int, kind, text string, out *Outcome) error {
	mine, err := c.comments(ctx, in, number, func(text string) bool { return isMarked(kind, text) })
	if err != nil {
		return err
	}
	if len(mine) == 0 {
		// Even if the answer is lost: a look will tell whether it was created.
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

// comments are ours on an issue or pull request that match, the oldest first.
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
