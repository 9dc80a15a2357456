package github

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// limit says how long to wait if GitHub limits the rate of requests, and whether
// it does. It answers with status 403 or 429, and 200 for GraphQL. At attempt n
// of those where it does not say how long, the wait doubles.
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
		// By GitHub's own clock, and to the end of that second.
		return bounded(int(reset-clock(a.header).Unix()) + 1), true
	}
	if a.status == http.StatusTooManyRequests || strings.Contains(strings.ToLower(a.message), "rate limit") {
		return time.Minute << (n - 1), true
	}
	return 0, false
}

// bounded takes nonsense for a second or for a day.
func bounded(seconds int) time.Duration {
	return time.Duration(min(max(seconds, 1), 24*60*60)) * time.Second
}

// clock is the time of the server, or ours if it does not tell.
func clock(header http.Header) time.Time {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		return date
	}
	return time.Now()
}
