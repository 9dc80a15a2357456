package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// attempts is the total number of attempts.
	attempts = 6
	// patience limits a call whose caller sets no deadline. When GitHub limits the rate of
	// requests, it asks for a wait of at least a minute.
	patience = 5 * time.Minute
)

// errGone means that something was deleted after it was found.
var errGone = errors.New("it is deleted each time before it can be edited")

// permanent is an error that a retry cannot fix.
type permanent struct{ message string }

func (u *permanent) Error() string { return u.message }

// patient adds a deadline to a context without one.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// repeat calls do until it succeeds, fails with a permanent error, or ctx ends before the next
// attempt. do must check what is there before it writes, so that an attempt whose response was lost
// is not repeated.
func (c *Client) repeat(ctx context.Context, what string, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil {
			return nil
		}
		// Neither a text from the library or the server nor a wrapped error may contain the token.
		message := c.secrets.String(err.Error())
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %s: %w", what, message, ctx.Err())
		}
		wait, again := limit(err, n)
		if again {
			message = fmt.Sprintf("GitHub accepts no more requests for now; try again in %s, after %s (%s)",
				wait.Round(time.Second), time.Now().Add(wait).UTC().Format(time.RFC3339), message)
		} else if wait, again = pause(err, n); !again {
			return fmt.Errorf("%s: %s%s", what, message, advice(statusOf(err)))
		}
		if n == attempts {
			return fmt.Errorf("%s: %s, also on attempt %d", what, message, n)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return fmt.Errorf("%s: %s, and there is no time left to wait", what, message)
		}
		if err := c.wait(ctx, wait); err != nil {
			return fmt.Errorf("%s: %s: %w", what, message, err)
		}
	}
}

// pause returns how long to wait after a temporary error on attempt n.
func pause(err error, n int) (wait time.Duration, passes bool) {
	var lasting *permanent
	switch status := statusOf(err); {
	case errors.Is(err, errGone):
		return 0, true
	case errors.Is(err, errElsewhere), errors.As(err, &lasting), status != 0 && status < http.StatusInternalServerError:
		return 0, false
	}
	// GitHub also needs about a second to show what it has just created.
	return time.Second << (n - 1), true
}

// advice returns what to do about a response with that status, or "".
func advice(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "; the token is wrong or has expired"
	case http.StatusForbidden:
		return "; give the job the permissions `issues: write` and `pull-requests: write`"
	case http.StatusNotFound:
		return "; it does not exist, or the token may not see it"
	}
	return ""
}
