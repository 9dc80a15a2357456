package github

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"slipway/dev/cloudsim/githubsim"

	"github.com/google/go-cmp/cmp"
)

const (
	driftKey    = "drift/prod"
	driftMarker = "<!-- slipway:drift/prod -->"
)

func putIssue(t *testing.T, c *Client, want Issue) Outcome {
	t.Helper()
	out, err := c.PutIssue(t.Context(), repo, driftKey, want)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An issue is what a test inspects.
type issue struct {
	Number      int
	Title, Body string
	Open        bool
	Reason      string
	Labels      []string
	Comments    []string
}

// issues are all but pull requests.
func issues(sim *githubsim.Server) []issue {
	var list []issue
	for _, i := range sim.Issues(repo) {
		if i.Pull {
			continue
		}
		is := issue{Number: i.Number, Title: i.Title, Body: i.Body, Open: i.Open, Reason: i.Reason, Labels: i.Labels}
		for _, c := range i.Comments {
			is.Comments = append(is.Comments, c.Body)
		}
		list = append(list, is)
	}
	return list
}

func expect(t *testing.T, sim *githubsim.Server, want ...issue) {
	t.Helper()
	if diff := cmp.Diff(want, issues(sim)); diff != "" {
		t.Error(diff)
	}
}

func TestIssueLifecycle(t *testing.T) {
	sim, client, slept := start(t)
	labels := []string{"slipway", "drift", "env/prod"}
	is := issue{Number: 2, Title: "Drift in prod", Body: driftMarker + "\none", Open: true, Labels: labels}
	want := Issue{Title: "Drift in prod", Body: "one", Labels: []string{"drift", "env/prod"}, Open: true, Closing: "No drift in run 7."}
	step := func(name string, action Action, writes int) {
		t.Helper()
		before := len(sim.Writes())
		out := putIssue(t, client, want)
		if out.Action != action || out.Removed != 0 || !strings.HasSuffix(out.URL, "/github/web/acme/infra/issues/2") {
			t.Errorf("%s: got %+v", name, out)
		}
		if got := sim.Writes()[before:]; len(got) != writes {
			t.Errorf("%s: got the writes %q, want %d", name, got, writes)
		}
		expect(t, sim, is)
	}
	step("open", Created, 4)
	step("open, the same", Unchanged, 0)
	want.Body, is.Body = "two\n", driftMarker+"\ntwo"
	step("open, another body", Updated, 1)
	sim.Edit(repo, 2, func(i *githubsim.Issue) { i.Title = "renamed by hand" })
	step("open, renamed", Updated, 1)
	// The labels are left to humans, but for ours.
	sim.Edit(repo, 2, func(i *githubsim.Issue) { i.Labels = []string{"SLIPWAY", "known"} })
	is.Labels = []string{"SLIPWAY", "known"}
	step("open, other labels", Unchanged, 0)

	want.Open, want.Body, want.Title = false, "clean", "Drift in prod (gone)"
	is.Open, is.Reason, is.Body, is.Title = false, "completed", driftMarker+"\nclean", want.Title
	is.Comments = []string{"No drift in run 7."}
	step("closed", Closed, 2)
	want.Body = "clean again"
	step("closed, again", Unchanged, 0)

	want.Open, want.Body = true, "three"
	is.Open, is.Reason, is.Body = true, "reopened", driftMarker+"\nthree"
	step("open again", Reopened, 1)
	want.Open = false
	is.Open, is.Reason = false, "completed"
	// The same words again: this is another closing.
	is.Comments = append(is.Comments, "No drift in run 7.")
	step("closed again", Closed, 2)

	if asked := count(sim.Requests(), "POST /graphql"); asked != 1 || len(slept.list) > 0 {
		t.Errorf("asked %d times who we are, waits of %v", asked, slept.list)
	}
}

func TestIssueNeverOpened(t *testing.T) {
	sim, client, _ := start(t)
	out := putIssue(t, client, Issue{Title: "Drift", Closing: "clean"})
	if diff := cmp.Diff(Outcome{Action: Unchanged}, out); diff != "" {
		t.Error(diff)
	}
	if got := sim.Writes(); len(got) > 0 {
		t.Errorf("got the writes %q", got)
	}
}

// TestNotOurIssue: none of these is mistaken for ours, whether it should be open or closed.
func TestNotOurIssue(t *testing.T) {
	for name, add := range map[string]func(sim *githubsim.Server) int{
		"another's with marker and label": func(sim *githubsim.Server) int {
			return sim.AddIssue(repo, "mallory", "Drift", driftMarker+"\nx", "slipway")
		},
		"a pull request": func(sim *githubsim.Server) int {
			return sim.AddPull(repo, githubsim.Bot, "Drift", driftMarker+"\nx", "slipway")
		},
		"of another key": func(sim *githubsim.Server) int {
			return sim.AddIssue(repo, githubsim.Bot, "Drift", "<!-- slipway:drift/prod/net -->\nx", "slipway")
		},
		"quoting the marker": func(sim *githubsim.Server) int {
			return sim.AddIssue(repo, githubsim.Bot, "Drift", "see\n"+driftMarker, "slipway")
		},
		"without the label": func(sim *githubsim.Server) int {
			return sim.AddIssue(repo, githubsim.Bot, "Drift", driftMarker+"\nx", "other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, _ := start(t)
			number := add(sim)
			before := sim.Issues(repo)[number-1]
			if out := putIssue(t, client, Issue{Title: "Drift", Closing: "clean"}); out.Action != Unchanged {
				t.Errorf("closed: got %+v", out)
			}
			if out := putIssue(t, client, Issue{Title: "Drift", Body: "x", Open: true}); out.Action != Created {
				t.Errorf("open: got %+v", out)
			}
			if diff := cmp.Diff(before, sim.Issues(repo)[number-1]); diff != "" {
				t.Errorf("it was changed: %s", diff)
			}
		})
	}
}

func TestIssueOnLastPage(t *testing.T) {
	sim, client, _ := start(t)
	for i := range 250 {
		sim.AddIssue(repo, githubsim.Bot, "Drift", fmt.Sprintf("<!-- slipway:drift/%d -->\nx", i), "slipway")
	}
	number := sim.AddIssue(repo, githubsim.Bot, "Drift", driftMarker+"\nold", "slipway")
	if out := putIssue(t, client, Issue{Title: "Drift", Body: "new", Open: true}); out.Action != Updated {
		t.Errorf("got %+v", out)
	}
	all := issues(sim)
	if last := all[len(all)-1]; last.Number != number || last.Body != driftMarker+"\nnew" {
		t.Errorf("got %+v", last)
	}
}

func TestDuplicateIssues(t *testing.T) {
	for _, open := range []bool{true, false} {
		t.Run(fmt.Sprint("open ", open), func(t *testing.T) {
			sim, client, _ := start(t)
			for range 3 {
				sim.AddIssue(repo, githubsim.Bot, "Drift", driftMarker+"\nold", "slipway")
			}
			// The last one is deleted by somebody else just then.
			sim.Inject(githubsim.Fault{Method: "PATCH", Path: "/issues/4", Status: 410, Body: `{"message": "This issue was deleted"}`})
			out := putIssue(t, client, Issue{Title: "Drift", Body: "new", Open: open, Closing: "clean"})
			want := map[bool]Action{true: Updated, false: Closed}[open]
			if out.Action != want || out.Removed != 1 || !strings.HasSuffix(out.URL, "/issues/2") {
				t.Errorf("got %+v", out)
			}
			kept := issue{Number: 2, Title: "Drift", Body: driftMarker + "\nnew", Open: open, Labels: []string{"slipway"}}
			if !open {
				kept.Reason, kept.Comments = "completed", []string{"clean"}
			}
			closed := issue{Number: 3, Title: "Drift", Body: driftMarker + "\nold", Reason: "not_planned", Labels: []string{"slipway"}}
			gone := issue{Number: 4, Title: "Drift", Body: driftMarker + "\nold", Open: true, Labels: []string{"slipway"}}
			expect(t, sim, kept, closed, gone)
		})
	}
}

// TestDuplicateIssuesLostAnswer closes three issues; the last one first fails, which is not
// reported.
func TestDuplicateIssuesLostAnswer(t *testing.T) {
	sim, client, _ := start(t)
	for range 3 {
		sim.AddIssue(repo, githubsim.Bot, "Drift", driftMarker+"\nold", "slipway")
	}
	sim.Inject(fails("PATCH", "/issues/4", 1, githubsim.BadGateway(true)))
	if out := putIssue(t, client, Issue{Title: "Drift"}); out.Action != Closed || out.Removed != 2 {
		t.Errorf("got %+v", out)
	}
	for _, i := range issues(sim) {
		if i.Open || len(i.Comments) > 0 {
			t.Errorf("got %+v", i)
		}
	}
}

// TestIssueDeletedMeanwhile: an issue that should be open is recreated; one that should be closed
// is left deleted.
func TestIssueDeletedMeanwhile(t *testing.T) {
	for _, open := range []bool{true, false} {
		sim, client, _ := start(t)
		number := sim.AddIssue(repo, githubsim.Bot, "Drift", driftMarker+"\nold", "slipway")
		// Nobody finds it any more when it has lost its label.
		sim.Inject(githubsim.Fault{Method: "PATCH", Times: 1, Status: 410, Before: func() {
			sim.Edit(repo, number, func(i *githubsim.Issue) { i.Labels = nil })
		}})
		out := putIssue(t, client, Issue{Title: "Drift", Body: "new", Open: open})
		if want := map[bool]Action{true: Created, false: Closed}[open]; out.Action != want {
			t.Errorf("open %t: got %+v", open, out)
		}
		if got, want := len(issues(sim)), map[bool]int{true: 2, false: 1}[open]; got != want {
			t.Errorf("open %t: there are %d issues", open, got)
		}
	}
}

// TestIssueOpenedMeanwhile: an issue that somebody opens between two pages moves
// none of ours from one page to the other, where it would be its own duplicate.
func TestIssueOpenedMeanwhile(t *testing.T) {
	for _, after := range []int{99, 20} {
		sim, client, _ := start(t)
		add := func(n int) {
			for range n {
				sim.AddIssue(repo, "bob", "Other", "", "slipway")
			}
		}
		add(119 - after)
		number := sim.AddIssue(repo, githubsim.Bot, "Drift", driftMarker+"\nold", "slipway")
		add(after)
		f := fails("GET", "/issues", 1, githubsim.Fault{Before: func() { add(1) }})
		f.Skip = 1
		sim.Inject(f)
		out := putIssue(t, client, Issue{Title: "Drift", Body: "new", Open: true})
		if is := sim.Issues(repo)[number-1]; out.Action != Updated || out.Removed != 0 || !is.Open {
			t.Errorf("got %+v, %+v", out, is)
		}
	}
}

// TestIssueLostAnswers: whatever goes wrong, nothing is done twice, and the
// outcome says what was done.
func TestIssueLostAnswers(t *testing.T) {
	dropped := githubsim.Fault{Effect: true, Drop: true}
	faults := map[string]githubsim.Fault{
		"5xx before": githubsim.BadGateway(false), "5xx after": githubsim.BadGateway(true), "dropped after": dropped,
		"limited": githubsim.SecondaryLimit(403, 1),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			sim, client, slept := start(t)
			step := func(method, path string, want Issue, action Action, left issue) {
				t.Helper()
				before := len(slept.list)
				sim.Inject(fails(method, path, 1, fault))
				if out := putIssue(t, client, want); out.Action != action || out.Removed != 0 || out.URL == "" {
					t.Errorf("%s %s: got %+v", method, path, out)
				}
				// Go's HTTP client itself repeats a GET whose connection was dropped.
				if len(slept.list) != before+1 && method != "GET" {
					t.Errorf("%s %s: nothing went wrong", method, path)
				}
				expect(t, sim, left)
			}
			is := issue{Number: 2, Title: "Drift", Body: driftMarker + "\none", Open: true, Labels: []string{"slipway"}}
			step("POST", "/issues", Issue{Title: "Drift", Body: "one", Open: true}, Created, is)
			is.Body = driftMarker + "\ntwo"
			step("PATCH", "/issues/2", Issue{Title: "Drift", Body: "two", Open: true}, Updated, is)
			is.Body, is.Open, is.Reason, is.Comments = driftMarker+"\nthree", false, "completed", []string{"clean"}
			step("PATCH", "/issues/2", Issue{Title: "Drift", Body: "three", Closing: "clean"}, Closed, is)
			is.Open, is.Reason = true, "reopened"
			step("PATCH", "/issues/2", Issue{Title: "Drift", Body: "three", Open: true}, Reopened, is)
			is.Open, is.Reason, is.Comments = false, "completed", []string{"clean", "clean"}
			step("POST", "/issues/2/comments", Issue{Title: "Drift", Body: "three", Closing: "clean"}, Closed, is)
			is.Open, is.Reason = true, "reopened"
			step("GET", "/issues", Issue{Title: "Drift", Body: "three", Open: true}, Reopened, is)
		})
	}
}

func TestLabels(t *testing.T) {
	t.Run("one is there already", func(t *testing.T) {
		sim, client, _ := start(t)
		sim.AddIssue(repo, "bob", "Other", "", "Drift")
		putIssue(t, client, Issue{Title: "Drift", Open: true, Labels: []string{"drift", "prod"}})
		if got, want := sim.Labels(repo), []string{"Drift", "slipway", "prod"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("one is refused", func(t *testing.T) {
		sim, client, _ := start(t)
		_, err := client.PutIssue(t.Context(), repo, driftKey, Issue{Title: "Drift", Open: true, Labels: []string{" "}})
		if err == nil || len(issues(sim)) > 0 {
			t.Errorf("got %v and %+v", err, issues(sim))
		}
	})
	t.Run("the token may not set them", func(t *testing.T) {
		sim, client, slept := start(t)
		guest, err := New(Options{API: client.api.BaseURL.String(), Token: "token-of-" + githubsim.Guest, Wait: slept.wait})
		if err != nil {
			t.Fatal(err)
		}
		_, err = guest.PutIssue(t.Context(), repo, driftKey, Issue{Title: "Drift", Open: true})
		if err == nil || !strings.Contains(err.Error(), "add the label slipway to http") || len(issues(sim)) != 1 || len(slept.list) > 0 {
			t.Errorf("got %v and %+v", err, issues(sim))
		}
		// As soon as a human has done so, it is found.
		sim.Edit(repo, 2, func(i *githubsim.Issue) { i.Labels = []string{"slipway"} })
		out, err := guest.PutIssue(t.Context(), repo, driftKey, Issue{Title: "Drift", Open: true})
		if err != nil || out.Action != Unchanged {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

func TestPutIssueRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		key  string
		want Issue
		text string
	}{
		"no title":       {driftKey, Issue{Title: " "}, "title"},
		"a long title":   {driftKey, Issue{Title: strings.Repeat("x", 257)}, "title"},
		"two lines":      {driftKey, Issue{Title: "a\nb"}, "title"},
		"a long body":    {driftKey, Issue{Title: "x", Body: strings.Repeat("x", 65536)}, "65564 characters"},
		"a long closing": {driftKey, Issue{Title: "x", Closing: strings.Repeat("x", 65537)}, "65537 characters"},
		"a wrong key":    {"drift--prod", Issue{Title: "x"}, `"drift--prod"`},
	} {
		t.Run(name, func(t *testing.T) {
			sim, client, _ := start(t)
			_, err := client.PutIssue(t.Context(), repo, c.key, c.want)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
			if got := sim.Requests(); len(got) > 0 {
				t.Errorf("GitHub was asked: %q", got)
			}
		})
	}
}
