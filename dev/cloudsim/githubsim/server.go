// Package githubsim is a GitHub to try things on: it keeps issues, pull requests,
// comments and labels, and answers as the real one does as far as Slipway asks,
// by GitHub's documentation of its REST and GraphQL APIs. Tests make it fail as
// GitHub does; see Fault.
//
// A bearer token says who asks: token-of-actions is github-actions[bot], as the
// GITHUB_TOKEN of a workflow is; token-of-NAME is the user NAME. Everybody may do
// everything, but for labels; see Guest. A repository is there as soon as it is named.
//
// GET / shows all of it as plain text, without a token.
package githubsim

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A Server is a http.Handler whose root is the root of the API. It may stand
// under a prefix that http.StripPrefix takes away: its links keep the prefix.
type Server struct {
	mux  *http.ServeMux
	path string // of the file that keeps everything, or empty

	lock     sync.Mutex // of all below
	state    state
	faults   []*Fault
	received []string
}

// Open makes a server that keeps everything in the file at path, where what an
// earlier one kept is found again. An empty path keeps it in memory only.
func Open(path string) (*Server, error) {
	s := &Server{path: path, mux: http.NewServeMux()}
	if err := s.load(); err != nil {
		return nil, err
	}
	for pattern, serve := range map[string]func(*call) answer{
		"GET /user":                                              (*call).user,
		"POST /graphql":                                          (*call).graphql,
		"GET /repos/{owner}/{name}/issues":                       (*call).listIssues,
		"POST /repos/{owner}/{name}/issues":                      (*call).createIssue,
		"PATCH /repos/{owner}/{name}/issues/{number}":            (*call).updateIssue,
		"GET /repos/{owner}/{name}/issues/{number}/comments":     (*call).listComments,
		"POST /repos/{owner}/{name}/issues/{number}/comments":    (*call).createComment,
		"PATCH /repos/{owner}/{name}/issues/comments/{comment}":  (*call).updateComment,
		"DELETE /repos/{owner}/{name}/issues/comments/{comment}": (*call).deleteComment,
		"POST /repos/{owner}/{name}/labels":                      (*call).createLabel,
		"POST /repos/{owner}/{name}/pulls":                       (*call).createPull,
		"/":                                                      func(*call) answer { return notFound },
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, serve) })
	}
	s.mux.HandleFunc("GET /{$}", s.listing)
	s.mux.HandleFunc("GET /web/{owner}/{name}/{kind}/{number}", s.listing)
	return s, nil
}

// largest is the size from which a request is not read, in bytes.
const largest = 4 << 20

// ServeHTTP answers a request, or goes wrong as the faults say.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Read at once: only then does the server see a client that goes away.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
	if err != nil {
		respond(w, refused(http.StatusRequestEntityTooLarge, err.Error(), ""))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if fault := s.receive(r); fault != nil {
		fault.serve(w, r, s.mux)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// A call is a request by somebody who is known. The server is locked meanwhile.
type call struct {
	*http.Request
	server *Server
	login  string // who asks
	base   string // URL of the root of the API
}

// serve answers one request of the API, and keeps what it changed.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, serve func(*call) answer) {
	login, wrong := loginOf(r.Header.Get("Authorization"))
	if wrong != "" {
		// https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api#failed-login-limit
		respond(w, refused(http.StatusUnauthorized, wrong, docs))
		return
	}
	s.lock.Lock()
	a := serve(&call{Request: r, server: s, login: login, base: baseOf(r)})
	if r.Method != http.MethodGet && a.status < 300 {
		if err := s.save(); err != nil {
			log.Printf("githubsim: error: %v", err)
			a = refused(http.StatusInternalServerError, err.Error(), "")
		}
	}
	s.lock.Unlock()
	respond(w, a)
}

// loginOf says who a token belongs to, or in GitHub's words what is wrong.
func loginOf(authorization string) (login, wrong string) {
	token, found := strings.CutPrefix(authorization, "Bearer ")
	if !found {
		return "", "Requires authentication"
	}
	name, found := strings.CutPrefix(token, "token-of-")
	switch {
	case !found || !validLogin.MatchString(name):
		return "", "Bad credentials"
	case name == "actions":
		return Bot, ""
	}
	return name, ""
}

// baseOf is the URL of the root of the API as the client sees it.
func baseOf(r *http.Request) string {
	base := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		base.Scheme = "https"
	}
	// What was stripped is still in the request's first line.
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		base.Path = strings.TrimSuffix(u.Path, r.URL.Path)
	}
	return base.String()
}

// receive remembers a request and finds the fault that befalls it.
func (s *Server) receive(r *http.Request) *Fault {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.received = append(s.received, r.Method+" "+r.URL.Path)
	for _, f := range s.faults {
		if f.befalls(r) {
			return f
		}
	}
	return nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }
