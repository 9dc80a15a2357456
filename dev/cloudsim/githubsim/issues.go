package githubsim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// longestTitle is GitHub's limit for a title, in characters.
const longestTitle = 256

// An issueJSON is an issue or a pull request as GitHub shows it.
type issueJSON struct {
	ID       int64             `json:"id"`
	Number   int               `json:"number"`
	URL      string            `json:"url"`
	HTMLURL  string            `json:"html_url"`
	Title    string            `json:"title"`
	Body     string            `json:"body"`
	State    string            `json:"state"`
	Reason   *string           `json:"state_reason"`
	User     user              `json:"user"`
	Labels   []labelJSON       `json:"labels"`
	Comments int               `json:"comments"` // number of comments
	Created  time.Time         `json:"created_at"`
	Updated  time.Time         `json:"updated_at"`
	Closed   *time.Time        `json:"closed_at"`
	Pull     map[string]string `json:"pull_request,omitempty"` // only present in a pull request
}

func (c *call) showIssue(i *Issue) issueJSON {
	shown := issueJSON{
		ID: i.ID, Number: i.Number, Title: i.Title, Body: i.Body, State: stateOf(i), User: userOf(i.Author),
		URL:     fmt.Sprintf("%s/repos/%s/issues/%d", c.base, c.repositoryName(), i.Number),
		HTMLURL: c.pageOf(i), Labels: []labelJSON{}, Comments: len(i.Comments), Created: i.Created, Updated: i.Updated,
	}
	for _, name := range i.Labels {
		shown.Labels = append(shown.Labels, c.showLabel(name))
	}
	// Copies: when they are written, the issue may already have changed.
	if reason := i.Reason; reason != "" {
		shown.Reason = &reason
	}
	if closed := i.Closed; !i.Open {
		shown.Closed = &closed
	}
	if i.Pull {
		shown.Pull = map[string]string{"html_url": c.pageOf(i)}
	}
	return shown
}

func stateOf(i *Issue) string {
	if i.Open {
		return "open"
	}
	return "closed"
}

// pageOf returns the web page of an issue.
func (c *call) pageOf(i *Issue) string {
	kind := "issues"
	if i.Pull {
		kind = "pull"
	}
	return fmt.Sprintf("%s/web/%s/%s/%d", c.base, c.repositoryName(), kind, i.Number)
}

// listIssues returns issues and pull requests, newest first by default. It supports the filters
// state, labels and creator.
//
// https://docs.github.com/en/rest/issues/issues#list-repository-issues
func (c *call) listIssues() answer {
	query := c.URL.Query()
	var found []*Issue
	for _, i := range c.repository().Issues {
		state, creator := query.Get("state"), query.Get("creator")
		if state == "" {
			state = "open"
		}
		match := (state == "all" || state == stateOf(i)) && (creator == "" || strings.EqualFold(creator, i.Author))
		if labels := query.Get("labels"); labels != "" {
			for label := range strings.SplitSeq(labels, ",") {
				match = match && hasLabel(i.Labels, label)
			}
		}
		if match {
			found = append(found, i)
		}
	}
	if query.Get("direction") != "asc" {
		slices.Reverse(found)
	}
	page, link := paginate(c, found)
	list := make([]issueJSON, 0, len(page))
	for _, i := range page {
		list = append(list, c.showIssue(i))
	}
	return answer{status: http.StatusOK, body: list, link: link}
}

// An issueRequest contains the new values of an issue; nil leaves a value as it is.
type issueRequest struct {
	Title  *string   `json:"title"`
	Body   *string   `json:"body"`
	State  *string   `json:"state"`
	Reason *string   `json:"state_reason"`
	Labels *[]string `json:"labels"`
}

func (r issueRequest) check() (answer, bool) {
	if r.Title != nil && strings.TrimSpace(*r.Title) == "" {
		return invalid(field{"Issue", "missing_field", "title", ""}), false
	}
	if r.Title != nil && utf8.RuneCountInString(*r.Title) > longestTitle {
		return invalid(field{"Issue", "custom", "title", "title is too long (maximum is 256 characters)"}), false
	}
	if r.Body != nil && utf8.RuneCountInString(*r.Body) > longest {
		return invalid(field{"Issue", "custom", "body", "body is too long (maximum is 65536 characters)"}), false
	}
	if r.State != nil && *r.State != "open" && *r.State != "closed" {
		return invalid(field{"Issue", "invalid", "state", ""}), false
	}
	if r.Reason != nil && !slices.Contains([]string{"completed", "not_planned", "duplicate", "reopened"}, *r.Reason) {
		return invalid(field{"Issue", "invalid", "state_reason", ""}), false
	}
	return answer{}, true
}

// apply changes an issue. Labels that the repository does not have are created.
func (r issueRequest) apply(in *repository, i *Issue) {
	i.Updated = now()
	if r.Title != nil {
		i.Title = strings.TrimSpace(*r.Title)
	}
	if r.Body != nil {
		i.Body = *r.Body
	}
	if r.Labels != nil {
		i.Labels = nil
		for _, name := range *r.Labels {
			if !hasLabel(in.Labels, name) {
				in.Labels = append(in.Labels, name)
			}
			i.Labels = append(i.Labels, name)
		}
	}
	if open := r.State != nil && *r.State == "open"; r.State != nil && open != i.Open {
		i.Open, i.Reason, i.Closed = open, "reopened", time.Time{}
		if !open {
			i.Reason, i.Closed = "completed", i.Updated
		}
		if r.Reason != nil {
			i.Reason = *r.Reason
		}
	}
}

// createIssue silently drops the labels of a Guest, as GitHub does for everybody without push
// access.
//
// https://docs.github.com/en/rest/issues/issues#create-an-issue
func (c *call) createIssue() answer {
	var request issueRequest
	if a, ok := c.decode(&request); !ok {
		return a
	}
	if request.Title == nil {
		request.Title = new(string)
	}
	if a, ok := request.check(); !ok {
		return a
	}
	if c.login == Guest {
		request.Labels = nil
	}
	request.State, request.Reason = nil, nil
	issue := c.server.issue(c.repositoryName(), false, c.login)
	request.apply(c.repository(), issue)
	return answer{status: http.StatusCreated, body: c.showIssue(issue)}
}

// https://docs.github.com/en/rest/issues/issues#update-an-issue
func (c *call) updateIssue() answer {
	issue := c.issue()
	if issue == nil {
		return notFound
	}
	var request issueRequest
	if a, ok := c.decode(&request); !ok {
		return a
	}
	if a, ok := request.check(); !ok {
		return a
	}
	request.apply(c.repository(), issue)
	return answer{status: http.StatusOK, body: c.showIssue(issue)}
}

// createPull creates a pull request; its branches need not exist.
//
// https://docs.github.com/en/rest/pulls/pulls#create-a-pull-request
func (c *call) createPull() answer {
	var request issueRequest
	if a, ok := c.decode(&request); !ok {
		return a
	}
	if request.Title == nil {
		request.Title = new(string)
	}
	if a, ok := request.check(); !ok {
		return a
	}
	pull := c.server.issue(c.repositoryName(), true, c.login)
	issueRequest{Title: request.Title, Body: request.Body}.apply(c.repository(), pull)
	return answer{status: http.StatusCreated, body: c.showIssue(pull)}
}

// issue adds an open issue or pull request.
func (s *Server) issue(repository string, pull bool, login string) *Issue {
	r := s.repository(repository)
	i := &Issue{ID: s.id(), Number: len(r.Issues) + 1, Pull: pull, Author: login, Open: true, Created: now(), Updated: now()}
	r.Issues = append(r.Issues, i)
	return i
}
