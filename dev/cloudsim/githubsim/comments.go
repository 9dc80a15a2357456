package githubsim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// longest is GitHub's limit for a body, in characters.
const longest = 65536

// A commentJSON is a comment as GitHub shows it.
type commentJSON struct {
	ID      int64     `json:"id"`
	URL     string    `json:"url"`
	HTMLURL string    `json:"html_url"`
	Body    string    `json:"body"`
	User    user      `json:"user"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

func (c *call) showComment(i *Issue, comment *Comment) commentJSON {
	return commentJSON{
		ID:      comment.ID,
		URL:     fmt.Sprintf("%s/repos/%s/issues/comments/%d", c.base, c.repositoryName(), comment.ID),
		HTMLURL: fmt.Sprintf("%s#issuecomment-%d", c.pageOf(i), comment.ID),
		Body:    comment.Body,
		User:    userOf(comment.Author),
		Created: comment.Created,
		Updated: comment.Updated,
	}
}

func (c *call) repositoryName() string { return c.PathValue("owner") + "/" + c.PathValue("name") }

func (c *call) repository() *repository { return c.server.repository(c.repositoryName()) }

// issue returns the issue in the path, or nil.
func (c *call) issue() *Issue {
	number, err := strconv.Atoi(c.PathValue("number"))
	if err != nil {
		return nil
	}
	return c.repository().issue(number)
}

// comment returns the issue of the comment in the path and the comment's index, or nil.
func (c *call) comment() (*Issue, int) {
	id, err := strconv.ParseInt(c.PathValue("comment"), 10, 64)
	if err != nil {
		return nil, 0
	}
	return c.repository().comment(id)
}

// commentBody reads and validates the body of a comment.
func (c *call) commentBody() (string, answer, bool) {
	var comment struct {
		Body string `json:"body"`
	}
	if a, ok := c.decode(&comment); !ok {
		return "", a, false
	}
	if strings.TrimSpace(comment.Body) == "" {
		return "", invalid(field{"IssueComment", "unprocessable", "data", "Body cannot be blank"}), false
	}
	if utf8.RuneCountInString(comment.Body) > longest {
		return "", invalid(field{"IssueComment", "unprocessable", "data", "Body is too long (maximum is 65536 characters)"}), false
	}
	return comment.Body, answer{}, true
}

// listComments returns the oldest first.
//
// https://docs.github.com/en/rest/issues/comments#list-issue-comments
func (c *call) listComments() answer {
	issue := c.issue()
	if issue == nil {
		return notFound
	}
	page, link := paginate(c, issue.Comments)
	list := make([]commentJSON, 0, len(page))
	for _, comment := range page {
		list = append(list, c.showComment(issue, comment))
	}
	return answer{status: http.StatusOK, body: list, link: link}
}

// https://docs.github.com/en/rest/issues/comments#create-an-issue-comment
func (c *call) createComment() answer {
	issue := c.issue()
	if issue == nil {
		return notFound
	}
	body, a, ok := c.commentBody()
	if !ok {
		return a
	}
	return answer{status: http.StatusCreated, body: c.showComment(issue, c.server.comment(issue, c.login, body))}
}

// https://docs.github.com/en/rest/issues/comments#update-an-issue-comment
func (c *call) updateComment() answer {
	issue, at := c.comment()
	if issue == nil {
		return notFound
	}
	body, a, ok := c.commentBody()
	if !ok {
		return a
	}
	comment := issue.Comments[at]
	comment.Body, comment.Updated = body, now()
	return answer{status: http.StatusOK, body: c.showComment(issue, comment)}
}

// https://docs.github.com/en/rest/issues/comments#delete-an-issue-comment
func (c *call) deleteComment() answer {
	issue, at := c.comment()
	if issue == nil {
		return notFound
	}
	issue.Comments = slices.Delete(issue.Comments, at, at+1)
	return answer{status: http.StatusNoContent}
}

// comment adds a comment.
func (s *Server) comment(i *Issue, login, body string) *Comment {
	comment := &Comment{ID: s.id(), Author: login, Body: body, Created: now(), Updated: now()}
	i.Comments = append(i.Comments, comment)
	i.Updated = comment.Created
	return comment
}
