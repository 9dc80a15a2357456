package github

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// limit reports whether GitHub limits the rate of requests, and how long to wait. A limit comes
// with status 403 or 429, or with 200 for GraphQL. If GitHub gives no time, the wait doubles with
// each attempt n.
//
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
func limit(err error, n int) (wait time.Duration, limited bool) {
	a := answerOf(err)
	switch a.status {
	case http.StatusOK, http.StatusForbidden, http.StatusTooManyRequests:
	default:
		return 0, false
	}
	if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
		return bounded(seconds), true
	}
	if reset, err := strconv.ParseInt(a.header.Get("X-RateLimit-Reset"), 10, 64); err == nil && a.header.Get("X-RateLimit-Remaining") == "0" {
		// Measured by GitHub's own clock, up to the end of that second.
		return bounded(int(reset-clock(a.header).Unix()) + 1), true
	}
	if a.status == http.StatusTooManyRequests || strings.Contains(strings.ToLower(a.message), "rate limit") {
		return time.Minute << (n - 1), true
	}
	return 0, false
}

// bounded keeps a nonsensical value between a second and a day.
func bounded(seconds int) time.Duration {
	return time.Duration(min(max(seconds, 1), 24*60*60)) * time.Second
}

// clock returns the server's time, or ours if the server does not send it.
func clock(header http.Header) time.Time {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		return date
	}
	return time.Now()
}
