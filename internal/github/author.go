package github

import (
	"context"
	"net/http"

	api "github.com/google/go-github/v74/github"
)

// authorID is the ID of who the token belongs to. Only GraphQL says so to the
// token of a workflow; it is asked once.
func (c *Client) authorID(ctx context.Context) (int64, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.author != 0 {
		return c.author, nil
	}
	request, err := c.api.NewRequest(http.MethodPost, c.graphql, map[string]string{"query": "{viewer{login databaseId}}"})
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Viewer struct {
				ID int64 `json:"databaseId"`
			} `json:"viewer"`
		} `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	response, err := c.api.Do(ctx, request, &answer)
	if err != nil {
		return 0, err
	}
	if len(answer.Errors) > 0 {
		// GraphQL answers with status 200 also what it refuses.
		return 0, &api.ErrorResponse{Response: response.Response, Message: answer.Errors[0].Message}
	}
	if answer.Data.Viewer.ID == 0 {
		return 0, &api.ErrorResponse{Response: response.Response, Message: "it does not say who the token belongs to"}
	}
	c.author = answer.Data.Viewer.ID
	return c.author, nil
}
