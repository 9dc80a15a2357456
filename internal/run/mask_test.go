package run_test

import (
	"testing"

	"slipway/internal/run"
	"slipway/internal/testkit"
)

// What is marked as sensitive is masked at once, also in progress, and a report keeps the
// order in which it was written.
func TestMarked(t *testing.T) {
	r, stdout, stderr := testkit.Quiet(t, run.Command{Name: "apply"})
	r.Mask.AddMarked("born-in-the-state-1")
	r.Say("%s", "it is born-in-the-state-1")
	if got := stderr.String(); got != "it is ***\n" {
		t.Errorf("it says %q", got)
	}
	part := func(text string) func(func(string) string) string {
		return func(mask func(string) string) string { return mask(text) }
	}
	r.Report.WriteString("one\n")
	r.Report.Add(part("two is born-in-the-state-1\n"))
	r.Report.Add(part("three\n"))
	r.Report.WriteString("four\n")
	r.End(nil)
	if got := stdout.String(); got != "one\ntwo is ***\nthree\nfour\n" {
		t.Errorf("it reports %q", got)
	}
}
