//go:build blackbox

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/report"
	"slipway/internal/run"
)

// A reviewer sees the values that are on the list, what environment.yaml adds to it, and the
// warnings: on the console, in what a plan leaves, in the comment, and of drift in the issue.
func TestBlackBoxReviewValues(t *testing.T) {
	p := newProject(t, "")
	c, h := p.onCloud(), newHub(t)
	const code = `
resource "terraform_data" "size" { input = "b3-8" }
resource "terraform_data" "rules" { input = ["192.0.2.0/24"] }
removed {
  from = terraform_data.old
  lifecycle { destroy = false }
}
check "size" {
  assert {
    condition     = terraform_data.size.input == "b3-4"
    error_message = "canary-of-a-message"
  }
}
`
	file, err := os.ReadFile(filepath.Join(p.dir, "environments/test/environment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("environments/test/environment.yaml", string(file)+"review: {show: [terraform_data.input]}\n")
	p.write("environments/test/main.tf", c.code("operator")+strings.Replace(code, "removed {\n  from = terraform_data.old\n  lifecycle { destroy = false }\n}", `resource "terraform_data" "old" {}`, 1))
	p.run("bootstrap").must(t, run.Done)
	p.run("apply").must(t, run.Done).says(t, "+   openstack_compute_keypair_v2.operator\n        name: operator\n", "+   terraform_data.rules\n        input: [192.0.2.0/24]\n")

	p.write("environments/test/main.tf", strings.Replace(c.code("operator"), `= "operator"`, `= "alice"`, 1)+strings.NewReplacer(`"b3-8"`, `"r3-512"`, `["192.0.2.0/24"]`, `["0.0.0.0/0"]`).Replace(code))
	planned := p.run("plan").must(t, run.Changes)
	h.on("pull_request")
	p.run("report", h.options(map[string]ended{"test": planned})).must(t, run.Done)
	comments := h.Comments(repository, 1)
	if len(comments) != 1 {
		t.Fatalf("%d comments", len(comments))
	}
	markdown, err := os.ReadFile(filepath.Join(planned.out, "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the console": planned.stdout, "summary.md": string(markdown), "the comment": comments[0].Body} {
		for _, want := range []string{
			"Plan: 1 to replace, 1 to forget, 2 to update.", "name: operator → alice\n", "forced by name", "input: b3-8 → r3-512\n", "input: +0.0.0.0/0, -192.0.2.0/24\n",
			".   terraform_data.old (removed from code; stays in the cloud, no longer managed)", "1 known after apply",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", where, want, text)
			}
		}
		if where != "the console" && !strings.Contains(text, "warning: Check block assertion failed (") {
			t.Errorf("%s has no warning:\n%s", where, text)
		}
	}
	data, err := os.ReadFile(filepath.Join(planned.out, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	var view report.Environment
	if err := json.Unmarshal(data, &view); err != nil || view.Version != report.Version || !slices.ContainsFunc(view.Layers[0].Warnings, func(w string) bool { return strings.HasPrefix(w, "warning: Check block assertion failed") }) {
		t.Errorf("%v, summary.json: %s", err, data)
	}
	checked := p.run("drift").must(t, run.Changes).says(t, "terraform_data.size is not applied yet: update (input: b3-8 → r3-512, 1 known after apply)")
	for _, e := range []ended{planned, checked} {
		if strings.Contains(e.left(t), "canary") {
			t.Errorf("a detail of a warning is shown:\n%s", e.left(t))
		}
	}
}
