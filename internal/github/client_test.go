package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway/dev/cloudsim/githubsim"
)

const (
	repo  = "acme/infra"
	token = "token-of-actions"
)

// waits are how long the client would have slept.
type waits struct {
	lock sync.Mutex
	list []time.Duration
}

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.list = append(w.list, d)
	return ctx.Err()
}

// start serves a GitHub with one pull request, number 1, under a prefix as
// cloudsim does.
func start(t *testing.T) (*githubsim.Server, *Client, *waits) {
	t.Helper()
	sim, err := githubsim.Open("")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/github", sim))
	t.Cleanup(server.Close)
	slept := &waits{}
	if n := sim.AddPull(repo, "alice", "Add a subnet", "Please."); n != 1 {
		t.Fatalf("the pull request is number %d", n)
	}
	return sim, connect(t, server.URL+"/github", slept), slept
}

func connect(t *testing.T, url string, slept *waits) *Client {
	t.Helper()
	client, err := New(Options{API: url, Token: token, Wait: slept.wait})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no URL":          {API: "", Token: token},
		"another scheme":  {API: "ftp://api.github.com", Token: token},
		"no host":         {API: "https:///x", Token: token},
		"a password":      {API: "https://hunter2hunter2@api.github.com", Token: token},
		"a query":         {API: "https://api.github.com?key=hunter2hunter2", Token: token},
		"no token":        {API: "https://api.github.com"},
		"a broken token":  {API: "https://api.github.com", Token: "hunter2hunter2\n"},
		"a foreign token": {API: "https://api.github.com", Token: "hunter2hunter2é"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(o)
			if err == nil {
				t.Fatal("it is taken")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error has the secret: %v", err)
			}
		})
	}
}

func TestGraphQLAddress(t *testing.T) {
	for api, want := range map[string]string{
		"https://api.github.com":           "https://api.github.com/graphql",
		"https://api.github.com/":          "https://api.github.com/graphql",
		"https://git.example.org/api/v3":   "https://git.example.org/api/graphql",
		"https://git.example.org/x/api/v3": "https://git.example.org/x/api/graphql",
		"http://cloudsim:9000/github":      "http://cloudsim:9000/github/graphql",
	} {
		c, err := New(Options{API: api, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		if c.graphql != want {
			t.Errorf("%s: got %s, want %s", api, c.graphql, want)
		}
	}
}

// TestTokenInNoError lets the server say the token back in every way it can.
func TestTokenInNoError(t *testing.T) {
	echo := `{"message": "what is ` + token + `?", "documentation_url": "https://docs.github.com/` + token + `"}`
	faults := map[string]githubsim.Fault{
		"a dropped connection": {Drop: true},
		"a wrong answer":       {Status: 200, Body: `{"data": "` + token + `"}`},
		"an error of GraphQL":  {Status: 200, Body: `{"errors": [{"message": "` + token + ` is wrong"}]}`},
	}
	for _, status := range []int{401, 403, 404, 422, 429, 500, 502} {
		faults[fmt.Sprint(status)] = githubsim.Fault{Status: status, Body: echo}
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			sim, client, _ := start(t)
			sim.Inject(fault)
			_, err := client.PutComment(t.Context(), repo, 1, "plan", "text")
			if err == nil {
				t.Fatal("there is no error")
			}
			if name == "422" && !strings.Contains(err.Error(), "what is ***?") {
				t.Errorf("the error lacks what GitHub said: %v", err)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if text := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(text, token) {
					t.Errorf("the error has the token: %s", text)
				}
			}
		})
	}
}

// TestRedirects: a renamed repository is followed, but the token goes to no other
// host.
func TestRedirects(t *testing.T) {
	sim, err := githubsim.Open("")
	if err != nil {
		t.Fatal(err)
	}
	sim.AddPull("acme/new", "alice", "Title", "")
	real := httptest.NewServer(sim)
	t.Cleanup(real.Close)
	t.Run("same host", func(t *testing.T) {
		moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if rest, found := strings.CutPrefix(r.URL.Path, "/repos/acme/old/"); found {
				http.Redirect(w, r, "/repos/acme/new/"+rest, http.StatusTemporaryRedirect)
				return
			}
			sim.ServeHTTP(w, r)
		}))
		t.Cleanup(moved.Close)
		if _, err := connect(t, moved.URL, &waits{}).PutComment(t.Context(), "acme/old", 1, "plan", "text"); err != nil {
			t.Error(err)
		}
		if got := len(sim.Comments("acme/new", 1)); got != 1 {
			t.Errorf("there are %d comments", got)
		}
	})
	t.Run("another host", func(t *testing.T) {
		before := len(sim.Requests())
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, real.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}))
		t.Cleanup(elsewhere.Close)
		slept := &waits{}
		_, err := connect(t, elsewhere.URL, slept).PutComment(t.Context(), "acme/new", 1, "plan", "text")
		if err == nil || !strings.Contains(err.Error(), "another host") {
			t.Errorf("got %v", err)
		}
		if got := sim.Requests()[before:]; len(got) > 0 || len(slept.list) > 0 {
			t.Errorf("the other host got %q, after waits of %v", got, slept.list)
		}
	})
}

// once is what is true of a list that holds one thing.
func once(t *testing.T, comments []githubsim.Comment, want string) {
	t.Helper()
	var bodies []string
	for _, c := range comments {
		if c.Author == githubsim.Bot {
			bodies = append(bodies, c.Body)
		}
	}
	if !slices.Equal(bodies, []string{want}) {
		t.Errorf("our comments are %q, want only %q", bodies, want)
	}
}
