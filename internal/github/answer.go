package github

import (
	"errors"
	"net/http"

	api "github.com/google/go-github/v74/github"
)

// An answer is GitHub's response to a failed request. Its status is 0 if there was no response.
type answer struct {
	status  int
	header  http.Header
	message string
}

// answerOf returns the response that caused err.
func answerOf(err error) answer {
	var primary *api.RateLimitError
	var secondary *api.AbuseRateLimitError
	var other *api.ErrorResponse
	switch {
	case errors.As(err, &primary):
		return answer{primary.Response.StatusCode, primary.Response.Header, primary.Message}
	case errors.As(err, &secondary):
		return answer{secondary.Response.StatusCode, secondary.Response.Header, secondary.Message}
	case errors.As(err, &other):
		return answer{other.Response.StatusCode, other.Response.Header, other.Message}
	}
	return answer{}
}

func statusOf(err error) int { return answerOf(err).status }
