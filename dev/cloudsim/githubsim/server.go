// Package githubsim is a GitHub to try things on: it stores issues, pull requests, comments and
// labels, and responds like the real one as far as Slipway uses it, according to GitHub's
// documentation of its REST and GraphQL APIs. Tests make it fail as GitHub does; see Fault.
//
// A bearer token identifies the client: token-of-actions is github-actions[bot], like the
// GITHUB_TOKEN of a workflow; token-of-NAME is the user NAME. Everybody may do everything, except
// for labels; see Guest. A repository is created when it is first used.
//
// GET / shows everything as plain text, without a token.
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

// A Server is an http.Handler whose root is the root of the API. It may be mounted under a prefix
// with http.StripPrefix: its links keep the prefix.
type Server struct {
	mux  *http.ServeMux
	path string // path of the data file, or empty

	lock     sync.Mutex // protects all fields below
	state    state
	faults   []*Fault
	received []string
}

// Open creates a server that stores everything in the file at path, and loads what an earlier one
// stored. An empty path keeps everything in memory.
func Open(path string) (*Server, error) {
	s := &Server{path: path, mux: http.NewServeMux()}
	if err := s.load(); err != nil {
		return nil, err
	}
	for pattern, serve := range map[string]func(*call) answer{
		"GET /user":                                                   (*call).user,
		"POST /graphql":                                               (*call).graphql,
		"GET /repos/{owner}/{name}/issues":                            (*call).listIssues,
		"POST /repos/{owner}/{name}/issues":                           (*call).createIssue,
		"PATCH /repos/{owner}/{name}/issues/{number}":                 (*call).updateIssue,
		"GET /repos/{owner}/{name}/issues/{number}/comments":          (*call).listComments,
		"POST /repos/{owner}/{name}/issues/{number}/comments":         (*call).createComment,
		"PATCH /repos/{owner}/{name}/issues/comments/{comment}":       (*call).updateComment,
		"DELETE /repos/{owner}/{name}/issues/comments/{comment}":      (*call).deleteComment,
		"POST /repos/{owner}/{name}/labels":                           (*call).createLabel,
		"POST /repos/{owner}/{name}/pulls":                            (*call).createPull,
		"GET /repos/{owner}/{name}/actions/workflows/{workflow}/runs": (*call).listRuns,
		"/": func(*call) answer { return notFound },
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, serve) })
	}
	s.mux.HandleFunc("GET /{$}", s.listing)
	s.mux.HandleFunc("GET /web/{owner}/{name}/{kind}/{number}", s.listing)
	return s, nil
}

// largest is the maximum size of a request, in bytes.
const largest = 4 << 20

// ServeHTTP responds to a request, or fails as the faults say.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Read the whole body first: only then does the server notice a client that goes away.
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

// A call is an authenticated request. The server is locked meanwhile.
type call struct {
	*http.Request
	server *Server
	login  string // login of the client
	base   string // URL of the root of the API
}

// serve responds to one API request, and saves what it changed.
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

// loginOf returns the owner of a token, or what is wrong, in GitHub's words.
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

// baseOf returns the URL of the root of the API as the client sees it.
func baseOf(r *http.Request) string {
	base := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		base.Scheme = "https"
	}
	// The stripped prefix is still in the request's first line.
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		base.Path = strings.TrimSuffix(u.Path, r.URL.Path)
	}
	return base.String()
}

// receive records a request and finds the fault that matches it.
func (s *Server) receive(r *http.Request) *Fault {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.received = append(s.received, r.Method+" "+r.URL.Path)
	for _, f := range s.faults {
		if f.matches(r) {
			return f
		}
	}
	return nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }
