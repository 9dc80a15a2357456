package github

import (
	"context"
	"net/http"

	api "github.com/google/go-github/v74/github"
)

// authorID returns the ID of the token's owner. For a workflow's token, only GraphQL returns it. It
// is requested once.
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
		// GraphQL also returns status 200 for a refused query.
		return 0, &api.ErrorResponse{Response: response.Response, Message: answer.Errors[0].Message}
	}
	if answer.Data.Viewer.ID == 0 {
		return 0, &api.ErrorResponse{Response: response.Response, Message: "the response does not name the token's owner"}
	}
	c.author = answer.Data.Viewer.ID
	return c.author, nil
}
