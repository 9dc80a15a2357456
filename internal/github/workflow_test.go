package github

import (
	"strings"
	"testing"

	"slipway/dev/cloudsim/githubsim"
)

func TestFailuresInARow(t *testing.T) {
	sim, client, _ := start(t)
	add := func(workflow, branch, conclusion string) {
		sim.AddRun(repo, githubsim.Run{Workflow: workflow, Branch: branch, Conclusion: conclusion})
	}
	expect := func(want int) {
		t.Helper()
		if got, err := client.FailuresInARow(t.Context(), repo, "nightly.yml", "main"); err != nil || got != want {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	expect(0)
	add("nightly.yml", "main", "failure")
	expect(1)
	add("nightly.yml", "main", "success")
	expect(0)
	add("nightly.yml", "main", "failure")
	add("nightly.yml", "other", "success")
	add("test.yml", "main", "success")
	add("nightly.yml", "main", "cancelled")
	expect(2)

	sim.Inject(fails("GET", "/runs", 1, githubsim.Fault{Status: 502}))
	expect(2)
	sim.Inject(fails("GET", "/runs", 0, githubsim.Fault{Status: 404}))
	if _, err := client.FailuresInARow(t.Context(), repo, "nightly.yml", "main"); err == nil || !strings.Contains(err.Error(), "list the runs of nightly.yml in "+repo) {
		t.Errorf("got %v", err)
	}
	if _, err := client.FailuresInARow(t.Context(), "x", "nightly.yml", "main"); err == nil {
		t.Error("a repository without an owner is accepted")
	}
}
