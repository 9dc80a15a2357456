package github

import (
	"encoding/json"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"slipway/internal/fault"
)

// An event is the part of a payload that identifies the pull request.
//
// https://docs.github.com/en/webhooks/webhook-events-and-payloads
type event struct {
	Number int `json:"number"`
	Pull   *struct {
		Number int    `json:"number"`
		Head   branch `json:"head"`
		Base   branch `json:"base"`
	} `json:"pull_request"`
	Issue struct {
		Number int       `json:"number"`
		Pull   *struct{} `json:"pull_request"` // present if the issue is a pull request
	} `json:"issue"`
}

type branch struct {
	SHA        string `json:"sha"`
	Repository struct {
		Name string `json:"full_name"` // empty if the repository was deleted
	} `json:"repo"`
}

// readPull sets the fields about the pull request, if the event has one.
func (c *Context) readPull(run *githubactions.GitHubContext) error {
	data, err := json.Marshal(run.Event)
	if err != nil {
		return err
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return fault.Refuse(eventHint, "the event in %q is malformed: %v", run.EventPath, err)
	}
	switch {
	case e.Pull != nil:
		c.Pull = max(e.Pull.Number, e.Number)
		from, to := e.Pull.Head.Repository.Name, e.Pull.Base.Repository.Name
		c.Fork = from == "" || from != to
		if sha := e.Pull.Head.SHA; sha != "" {
			if !validSHA.MatchString(sha) {
				return fault.Refuse(eventHint, "the event in %q has %q as its commit, which is not a commit", run.EventPath, sha)
			}
			c.Head = sha
		}
	case e.Issue.Pull != nil:
		c.Pull, c.Fork = e.Issue.Number, true
	case e.Number != 0:
		c.Pull, c.Fork = e.Number, true
	}
	if c.Pull < 0 || c.Pull == 0 && (e.Pull != nil || e.Issue.Pull != nil || strings.HasPrefix(c.Event, "pull_request")) {
		return fault.Refuse(eventHint, "the event in %q is %s, but it names no pull request", run.EventPath, c.Event)
	}
	return nil
}
