package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	api "github.com/google/go-github/v74/github"
)

// Label is on every issue of ours. An issue that loses it is not found any more.
const Label = "slipway"

// longestTitle is GitHub's limit for a title, in characters.
const longestTitle = 256

// An Issue is the desired state of an issue.
type Issue struct {
	Title  string   // one line of at most 256 characters
	Body   string   // at most Room(key) characters
	Labels []string // besides Label; set when the issue is created, and left to humans after that
	Open   bool
	// Closing is the comment that explains why the issue is closed; empty for none.
	Closing string
}

// PutIssue ensures that there is at most one open issue of ours for that key, with the wanted
// content. The repository is owner/name; key consists of lower-case letters, digits, hyphens, dots
// and slashes. An issue is found by its label, marker and author, whatever its title:
//
//   - an issue that should be open is edited in place if it differs, reopened if it
//     was closed, and created only if there never was one;
//   - an issue that should be closed is edited, commented and closed if it is open,
//     and otherwise left alone.
//
// It waits and fails as PutComment does.
func (c *Client) PutIssue(ctx context.Context, repository, key string, want Issue) (Outcome, error) {
	in, err := parseRepository(repository)
	if err != nil {
		return Outcome{}, err
	}
	what := fmt.Sprintf("put the issue %s in %s", key, in)
	text, err := marked(key, want.Body)
	want.Title, want.Body, want.Closing = strings.TrimSpace(want.Title), text, tidy(want.Closing)
	if err := errors.Join(err, checkTitle(want.Title), checkLength(want.Closing)); err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", what, err)
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	out := Outcome{Action: Unchanged}
	if want.Open {
		err = c.repeat(ctx, what, func() error { return c.openIssue(ctx, in, key, want, &out) })
	} else {
		err = c.closeIssue(ctx, what, in, key, want, &out)
	}
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

func checkTitle(title string) error {
	if title == "" || utf8.RuneCountInString(title) > longestTitle || strings.ContainsFunc(title, unicode.IsControl) {
		return fmt.Errorf("the title %q is not one line of at most %d characters", title, longestTitle)
	}
	return nil
}

// openIssue checks what is there and does what remains to be done. Repeating it gives the same
// result, and out then describes everything that it did.
func (c *Client) openIssue(ctx context.Context, in repository, key string, want Issue, out *Outcome) error {
	open, closed, err := c.issues(ctx, in, key)
	if err != nil {
		return err
	}
	request := &api.IssueRequest{Title: &want.Title, Body: &want.Body}
	switch {
	case len(open) > 0:
		out.URL = open[0].GetHTMLURL()
		if same(open[0], want) {
			break
		}
		out.Action = Updated
		if err := c.edit(ctx, in, open[0], request); err != nil {
			return err
		}
	case len(closed) > 0:
		out.Action, out.URL = Reopened, closed[0].GetHTMLURL()
		request.State, request.StateReason = api.Ptr("open"), api.Ptr("reopened")
		return c.edit(ctx, in, closed[0], request)
	default:
		return c.createIssue(ctx, in, want, request, out)
	}
	return c.closeDuplicates(ctx, in, open[1:], out)
}

// same reports whether an issue needs no change.
func same(is *api.Issue, want Issue) bool {
	return is.GetTitle() == want.Title && tidy(is.GetBody()) == want.Body
}

// createIssue creates the missing labels and an issue with them.
func (c *Client) createIssue(ctx context.Context, in repository, want Issue, request *api.IssueRequest, out *Outcome) error {
	labels := append([]string{Label}, want.Labels...)
	for _, name := range labels {
		_, _, err := c.api.Issues.CreateLabel(ctx, in.owner, in.name, &api.Label{Name: &name})
		if err != nil && !exists(err) {
			return err
		}
	}
	// Set this even if the response is lost: the next check shows whether it was created.
	out.Action = Created
	request.Labels = &labels
	created, _, err := c.api.Issues.Create(ctx, in.owner, in.name, request)
	if err != nil {
		return err
	}
	out.URL = created.GetHTMLURL()
	// If the token may not set labels, GitHub drops them silently, and we would create another
	// issue each time.
	if !slices.ContainsFunc(created.Labels, func(l *api.Label) bool { return strings.EqualFold(l.GetName(), Label) }) {
		return &permanent{fmt.Sprintf("the token may not set labels: add the label %s to %s by hand", Label, out.URL)}
	}
	return nil
}

// exists reports whether err means that the object exists already.
func exists(err error) bool {
	var response *api.ErrorResponse
	return errors.As(err, &response) && slices.ContainsFunc(response.Errors, func(e api.Error) bool { return e.Code == "already_exists" })
}

// edit changes an issue. An issue that is gone was deleted or moved since the check.
func (c *Client) edit(ctx context.Context, in repository, is *api.Issue, request *api.IssueRequest) error {
	_, _, err := c.api.Issues.Edit(ctx, in.owner, in.name, is.GetNumber(), request)
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusGone {
		return errGone
	}
	return err
}

// closeDuplicates closes the duplicates that an earlier crash left: only an administrator can
// delete an issue.
func (c *Client) closeDuplicates(ctx context.Context, in repository, issues []*api.Issue, out *Outcome) error {
	for _, duplicate := range issues {
		err := c.edit(ctx, in, duplicate, &api.IssueRequest{State: api.Ptr("closed"), StateReason: api.Ptr("not_planned")})
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return err
		}
		out.Removed++
	}
	return nil
}

// issues returns our issues for that key, oldest first.
func (c *Client) issues(ctx context.Context, in repository, key string) (open, closed []*api.Issue, err error) {
	author, err := c.authorID(ctx)
	if err != nil {
		return nil, nil, err
	}
	// Oldest first, so that a new issue does not shift others to another page meanwhile.
	options := &api.IssueListByRepoOptions{State: "all", Labels: []string{Label}, Sort: "created", Direction: "asc"}
	options.ListOptions.PerPage = 100
	for {
		page, response, err := c.api.Issues.ListByRepo(ctx, in.owner, in.name, options)
		if err != nil {
			return nil, nil, err
		}
		for _, issue := range page {
			switch {
			case issue.IsPullRequest() || issue.GetUser().GetID() != author || !isMarked(key, issue.GetBody()):
			case issue.GetState() == "open":
				open = append(open, issue)
			default:
				closed = append(closed, issue)
			}
		}
		if response.NextPage <= options.ListOptions.Page {
			break
		}
		options.ListOptions.Page = response.NextPage
	}
	byNumber := func(a, b *api.Issue) int { return cmp.Compare(a.GetNumber(), b.GetNumber()) }
	slices.SortFunc(open, byNumber)
	slices.SortFunc(closed, byNumber)
	return open, closed, nil
}
