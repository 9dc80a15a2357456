package github

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway/dev/cloudsim/githubsim"
)

// fails makes a fault apply to only some requests.
func fails(method, path string, times int, f githubsim.Fault) githubsim.Fault {
	f.Method, f.Path, f.Times = method, path, times
	return f
}

// TestLostAnswers: whatever goes wrong, and when, there is one comment in the
// end, and the outcome says what was done.
func TestLostAnswers(t *testing.T) {
	dropped := githubsim.Fault{Effect: true, Drop: true}
	cut := githubsim.Fault{Effect: true, Status: 201, Body: `{"id": 1, "body": "cut o`}
	for name, c := range map[string]struct {
		fault  githubsim.Fault
		old    string
		want   Action
		writes int
	}{
		"5xx before it was created":       {fails("POST", "/comments", 1, githubsim.BadGateway(false)), "", Created, 2},
		"5xx after it was created":        {fails("POST", "/comments", 1, githubsim.BadGateway(true)), "", Created, 1},
		"dropped after it was created":    {fails("POST", "/comments", 1, dropped), "", Created, 1},
		"dropped before it was created":   {fails("POST", "/comments", 1, githubsim.Fault{Drop: true}), "", Created, 2},
		"cut off after it was created":    {fails("POST", "/comments", 1, cut), "", Created, 1},
		"5xx after it was edited":         {fails("PATCH", "/comments", 1, githubsim.BadGateway(true)), "old", Updated, 1},
		"dropped after it was edited":     {fails("PATCH", "/comments", 1, dropped), "old", Updated, 1},
		"5xx while looking":               {fails("GET", "/comments", 2, githubsim.BadGateway(false)), "old", Updated, 1},
		"dropped while looking":           {fails("GET", "/comments", 2, githubsim.Fault{Drop: true}), "old", Updated, 1},
		"5xx while asking who we are":     {fails("POST", "/graphql", 2, githubsim.BadGateway(false)), "", Created, 1},
		"limited while asking who we are": {fails("POST", "/graphql", 1, githubsim.SecondaryLimit(403, 60)), "", Created, 1},
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, slept := start(t)
			if c.old != "" {
				sim.AddComment(repo, 1, githubsim.Bot, planMarker+"\n"+c.old)
			}
			sim.Inject(c.fault)
			out := putComment(t, client, "new")
			if out.Action != c.want || out.URL == "" || out.Removed != 0 {
				t.Errorf("got %+v", out)
			}
			once(t, sim.Comments(repo, 1), planMarker+"\nnew")
			if got := sim.Writes(); len(got) != c.writes {
				t.Errorf("got the writes %q, want %d", got, c.writes)
			}
			if len(slept.list) == 0 {
				t.Error("it goes on at once")
			}
		})
	}
}

// TestLimits: GitHub is left alone for as long as it says.
func TestLimits(t *testing.T) {
	reset := func(seconds int) githubsim.Fault {
		return githubsim.PrimaryLimit(time.Now().Add(time.Duration(seconds) * time.Second))
	}
	graphql := reset(90)
	graphql.Status, graphql.Body = http.StatusOK, `{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}`
	for name, c := range map[string]struct {
		fault githubsim.Fault
		want  []time.Duration
	}{
		"secondary":             {fails("POST", "/comments", 2, githubsim.SecondaryLimit(403, 7)), []time.Duration{7 * time.Second, 7 * time.Second}},
		"secondary, 429":        {fails("POST", "/comments", 2, githubsim.SecondaryLimit(429, 7)), []time.Duration{7 * time.Second, 7 * time.Second}},
		"secondary, no time":    {fails("POST", "/comments", 2, githubsim.SecondaryLimit(403, -1)), []time.Duration{time.Minute, 2 * time.Minute}},
		"429, no time":          {fails("POST", "/comments", 1, githubsim.Fault{Status: 429}), []time.Duration{time.Minute}},
		"secondary, a look":     {fails("GET", "/comments", 1, githubsim.SecondaryLimit(403, 0)), []time.Duration{time.Second}},
		"primary":               {fails("GET", "/comments", 1, reset(90)), []time.Duration{90 * time.Second}},
		"primary, of GraphQL":   {fails("POST", "/graphql", 1, graphql), []time.Duration{90 * time.Second}},
		"primary, already over": {fails("GET", "/comments", 1, reset(-90)), []time.Duration{time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, slept := start(t)
			sim.Inject(c.fault)
			putComment(t, client, "new")
			once(t, sim.Comments(repo, 1), planMarker+"\nnew")
			// The time of a reset counts whole seconds.
			if !slices.EqualFunc(slept.list, c.want, func(a, b time.Duration) bool { return (a - b).Abs() <= 2*time.Second }) {
				t.Errorf("waits of %v, want %v", slept.list, c.want)
			}
		})
	}
}

func TestLimitForever(t *testing.T) {
	t.Run("longer than there is time", func(t *testing.T) {
		sim, client, slept := start(t)
		sim.Inject(fails("POST", "/comments", 0, githubsim.SecondaryLimit(403, 60)))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := client.PutComment(ctx, repo, 1, "plan", "new")
		if err == nil || !strings.Contains(err.Error(), "try again in 1m0s, after 20") || !strings.Contains(err.Error(), "no time left") {
			t.Errorf("got %v", err)
		}
		if len(slept.list) > 0 {
			t.Errorf("waits of %v", slept.list)
		}
	})
	t.Run("as often as it is tried", func(t *testing.T) {
		sim, client, slept := start(t)
		sim.Inject(fails("POST", "/comments", 0, githubsim.SecondaryLimit(429, 2)))
		_, err := client.PutComment(t.Context(), repo, 1, "plan", "new")
		if err == nil || !strings.Contains(err.Error(), "try again in 2s") {
			t.Errorf("got %v", err)
		}
		if got := len(sim.Writes()); got != attempts || len(slept.list) != attempts-1 {
			t.Errorf("%d writes, waits of %v", got, slept.list)
		}
	})
	t.Run("until the time is over", func(t *testing.T) {
		sim, client, _ := start(t)
		sim.Inject(fails("POST", "/comments", 0, githubsim.SecondaryLimit(403, 1)))
		ctx, cancel := context.WithCancel(t.Context())
		client.wait = func(ctx context.Context, _ time.Duration) error {
			cancel()
			return ctx.Err()
		}
		_, err := client.PutComment(ctx, repo, 1, "plan", "new")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestSlowAnswer: ctx ends the wait for an answer.
func TestSlowAnswer(t *testing.T) {
	sim, client, _ := start(t)
	sim.Inject(githubsim.Fault{Path: "/comments", Delay: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := client.PutComment(ctx, repo, 1, "plan", "new"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestFinalAnswers are not asked for again, and say what to do.
func TestFinalAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		fault githubsim.Fault
		want  string
	}{
		"401": {githubsim.Fault{Status: 401, Body: `{"message": "Bad credentials"}`}, "Bad credentials []; the token is wrong"},
		"403": {githubsim.Fault{Status: 403, Body: `{"message": "Resource not accessible by integration"}`}, "`pull-requests: write`"},
		"404": {githubsim.Fault{Path: "/comments", Status: 404, Body: `{"message": "Not Found"}`}, "may not see it"},
		"200": {githubsim.Fault{Path: "/graphql", Status: 200, Body: `{"errors": [{"message": "Resource protected"}]}`}, "Resource protected"},
		"422": {githubsim.Fault{Path: "/comments", Status: 422, Body: `{"message": "Validation Failed"}`}, "Validation Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, slept := start(t)
			sim.Inject(c.fault)
			_, err := client.PutComment(t.Context(), repo, 1, "plan", "new")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "put the comment plan on acme/infra#1: ") {
				t.Errorf("got %v", err)
			}
			if len(slept.list) > 0 {
				t.Errorf("waits of %v", slept.list)
			}
		})
	}
}

// TestOutage: what does not pass ends with what GitHub answered last.
func TestOutage(t *testing.T) {
	sim, client, slept := start(t)
	sim.Inject(fails("POST", "/comments", 0, githubsim.BadGateway(false)))
	_, err := client.PutComment(t.Context(), repo, 1, "plan", "new")
	if err == nil || !strings.Contains(err.Error(), "502 Server Error") {
		t.Errorf("got %v", err)
	}
	want := []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}
	if !slices.Equal(slept.list, want) {
		t.Errorf("waits of %v, want %v", slept.list, want)
	}
}
