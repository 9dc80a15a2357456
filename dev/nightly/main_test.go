package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/dev/cloudsim/githubsim"
)

const repository = "owner/slipway"

// Seven nights: good, one bad, good, three bad, good.
func TestNights(t *testing.T) {
	sim, err := githubsim.Open("")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/github", sim))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "report.txt")
	night := func(result, want string) {
		t.Helper()
		said, err := keep(t.Context(), result, file, func(name string) string {
			return map[string]string{
				"GITHUB_REPOSITORY": repository, "GITHUB_EVENT_NAME": "schedule", "GITHUB_RUN_ID": "7",
				"GITHUB_API_URL": server.URL + "/github", "GITHUB_SERVER_URL": "https://github.example", "GITHUB_TOKEN": "token-of-actions",
			}[name]
		})
		if err != nil || !strings.HasPrefix(said, want) {
			t.Errorf("got %q, %v, want %q", said, err, want)
		}
		sim.AddRun(repository, githubsim.Run{Workflow: "nightly.yml", Branch: "main", Conclusion: result})
	}
	shown := func(open bool, texts ...string) {
		t.Helper()
		issues := sim.Issues(repository)
		if len(issues) != 1 || issues[0].Open != open {
			t.Fatalf("got %+v", issues)
		}
		for _, text := range texts {
			if !strings.Contains(issues[0].Body, text) {
				t.Errorf("it does not say %q:\n%s", text, issues[0].Body)
			}
		}
	}
	night("success", "no issue is open, and none is needed")
	night("failure", `the tests ended with "failure"; an issue opens after 2 such nights in a row`)
	night("success", "no issue is open, and none is needed")
	night("failure", "the tests ended")
	if issues := sim.Issues(repository); len(issues) != 0 {
		t.Errorf("got %+v", issues)
	}
	night("cancelled", "the issue is created: ")
	shown(true, "failed 2 nights in a row", "https://github.example/"+repository+"/actions/runs/7", "It ended without a report.")
	if err := os.WriteFile(file, []byte("TestSite failed\n```\n1 passed, 1 failed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	night("failure", "the issue is updated: ")
	shown(true, "failed 3 nights in a row", "````\nTestSite failed\n```\n1 passed, 1 failed\n````\n")
	night("success", "the issue is closed: ")
	shown(false, "passes: [the last run]")
}
