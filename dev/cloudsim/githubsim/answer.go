package githubsim

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// docs is the page that GitHub refers to if it has nothing more specific.
const docs = "https://docs.github.com/rest"

// An answer is written after the server is unlocked.
type answer struct {
	status int
	body   any    // nil: none
	link   string // links to the other pages, or empty
}

// A problem is GitHub's response to a request that it rejects.
//
// https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
type problem struct {
	Message string  `json:"message"`
	Errors  []field `json:"errors,omitempty"`
	Docs    string  `json:"documentation_url,omitempty"`
	Status  string  `json:"status"`
}

// A field says what is wrong with one value.
type field struct {
	Resource string `json:"resource"`
	Code     string `json:"code"`
	Field    string `json:"field"`
	Message  string `json:"message,omitempty"`
}

func refused(status int, message, docs string, fields ...field) answer {
	return answer{status: status, body: problem{message, fields, docs, strconv.Itoa(status)}}
}

// invalid rejects a value.
func invalid(f field) answer {
	return refused(http.StatusUnprocessableEntity, "Validation Failed", docs, f)
}

var notFound = refused(http.StatusNotFound, "Not Found", docs)

// respond writes an answer, with the headers of a client far from its rate limit.
//
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#checking-the-status-of-your-rate-limit
func respond(w http.ResponseWriter, a answer) {
	header := w.Header()
	header.Set("X-RateLimit-Limit", "5000")
	header.Set("X-RateLimit-Remaining", "4999")
	header.Set("X-RateLimit-Used", "1")
	header.Set("X-RateLimit-Resource", "core")
	header.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
	if a.link != "" {
		header.Set("Link", a.link)
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	// A client that has gone away needs no response.
	_ = json.NewEncoder(w).Encode(a.body)
}

// decode reads the request's JSON into value.
func (c *call) decode(value any) (answer, bool) {
	if err := json.NewDecoder(c.Body).Decode(value); err != nil {
		return refused(http.StatusBadRequest, "Problems parsing JSON", docs), false
	}
	return answer{}, true
}
