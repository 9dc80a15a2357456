package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// attempts is how often something is tried in all.
	attempts = 6
	// patience is how long a call takes at most whose caller sets no limit. GitHub
	// asks for a minute at least when it limits the rate of requests.
	patience = 5 * time.Minute
)

// errGone says that what was there at the look has gone since.
var errGone = errors.New("it is deleted whenever it is to be edited")

// unmended is an error that no repetition mends.
type unmended struct{ message string }

func (u *unmended) Error() string { return u.message }

// patient bounds a context that has no end.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// repeat does something until it works, or an error comes that will stay, or ctx
// ends before the next attempt. What it does looks at what is there before it
// writes, so that an attempt whose answer was lost is not made up for twice.
func (c *Client) repeat(ctx context.Context, what string, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil {
			return nil
		}
		// No text of the library's or of the server's may hold the token, nor any
		// error that it is wrapped in.
		message := c.secrets.String(err.Error())
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %s: %w", what, message, ctx.Err())
		}
		wait, again := limit(err, n)
		if again {
			message = fmt.Sprintf("GitHub takes no more requests for now; try again in %s, after %s (%s)",
				wait.Round(time.Second), time.Now().Add(wait).UTC().Format(time.RFC3339), message)
		} else if wait, again = pause(err, n); !again {
			return fmt.Errorf("%s: %s%s", what, message, advice(statusOf(err)))
		}
		if n == attempts {
			return fmt.Errorf("%s: %s, also at attempt %d", what, message, n)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return fmt.Errorf("%s: %s, and there is no time left to wait", what, message)
		}
		if err := c.wait(ctx, wait); err != nil {
			return fmt.Errorf("%s: %s: %w", what, message, err)
		}
	}
}

// pause says how long to wait after an error that may pass, at attempt n.
func pause(err error, n int) (wait time.Duration, passes bool) {
	var stays *unmended
	switch status := statusOf(err); {
	case errors.Is(err, errGone):
		return 0, true
	case errors.Is(err, errElsewhere), errors.As(err, &stays), status != 0 && status < http.StatusInternalServerError:
		return 0, false
	}
	// A second is also what GitHub needs to show what it has just created.
	return time.Second << (n - 1), true
}

// advice is what mends an answer with that status, or empty.
func advice(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "; the token is wrong or has expired"
	case http.StatusForbidden:
		return "; give the job the permissions `issues: write` and `pull-requests: write`"
	case http.StatusNotFound:
		return "; there is no such thing, or the token may not see it"
	}
	return ""
}
