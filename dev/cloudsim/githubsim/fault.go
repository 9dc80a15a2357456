package githubsim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Fault makes some requests fail. The first fields say which, the others how.
type Fault struct {
	Method string // empty: any
	Path   string // a part of the path; empty: any
	Skip   int    // number of matching requests that pass before the first one that fails
	Times  int    // number of requests that fail; 0: all

	Before func()        // called before the request takes effect, to simulate what others do meanwhile
	Delay  time.Duration // before the request takes effect
	Effect bool          // the request takes effect before it fails
	Drop   bool          // no response: the connection is closed
	Status int           // status of the response; 0: the normal response
	Header map[string]string
	Body   string // body of the response, JSON
}

// Inject makes requests fail from now on. If several faults match a request, the first one applies.
func (s *Server) Inject(f Fault) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if f.Times == 0 {
		f.Times = -1
	}
	s.faults = append(s.faults, &f)
}

// SecondaryLimit responds that there were too many requests in a short time, with status 403 or
// 429. GitHub does not always say how many seconds to wait; a negative number leaves them out.
//
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
func SecondaryLimit(status, seconds int) Fault {
	f := Fault{Status: status, Header: map[string]string{}, Body: `{
		"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
		"documentation_url": "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	}`}
	if seconds >= 0 {
		f.Header["Retry-After"] = strconv.Itoa(seconds)
	}
	return f
}

// PrimaryLimit responds that no requests are left until reset.
//
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
func PrimaryLimit(reset time.Time) Fault {
	return Fault{
		Status: http.StatusForbidden,
		Header: map[string]string{
			"X-RateLimit-Limit":     "5000",
			"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset":     strconv.FormatInt(reset.Unix(), 10),
		},
		Body: `{
			"message": "API rate limit exceeded for user ID 41898282.",
			"documentation_url": "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"
		}`,
	}
}

// BadGateway responds with 502, which GitHub may do even if the request took effect.
func BadGateway(effect bool) Fault {
	return Fault{Status: http.StatusBadGateway, Effect: effect, Body: `{"message": "Server Error"}`}
}

// matches counts the request if it matches; the server is locked.
func (f *Fault) matches(r *http.Request) bool {
	if f.Times == 0 || f.Method != "" && f.Method != r.Method || !strings.Contains(r.URL.Path, f.Path) {
		return false
	}
	if f.Skip > 0 {
		f.Skip--
		return false
	}
	if f.Times > 0 {
		f.Times--
	}
	return true
}

func (f *Fault) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if f.Before != nil {
		f.Before()
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return
		}
	}
	if f.Effect {
		next.ServeHTTP(&unheard{http.Header{}}, r)
	}
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Status == 0:
		next.ServeHTTP(w, r)
	default:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		for name, value := range f.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
	}
}

// unheard receives the response that the client never gets.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }
func (u *unheard) WriteHeader(int)             {}
