package run_test

import (
	"io"
	"strings"
	"testing"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// The output of a tool is passed on by whole lines, masked however it is split, and without commands to a workflow.
func TestStream(t *testing.T) {
	r, _, _ := testkit.Quiet(t, run.Command{Name: "wave"})
	r.Mask.Add("a-key-of-two\nlines-in-it")
	var shown strings.Builder
	s := r.Stream(&shown)
	write := func(text string) {
		t.Helper()
		_, err := io.WriteString(s, text)
		must.Do(t, err)
	}
	write("first\nsec")
	write("ond\n")
	if got := shown.String(); got != "first\nsecond\n" {
		t.Errorf("before the end: %q", got)
	}
	write("key: a-key-of")
	write("-two\nlines-in")
	write("-it.\n\x1b::error::red\n")
	write("no line break")
	must.Do(t, s.Close())
	if got, want := shown.String(), "first\nsecond\nkey: ***.\n: :error::red\nno line break"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The last lines are kept, for whoever sees nothing else.
func TestStreamLast(t *testing.T) {
	r, _, _ := testkit.Quiet(t, run.Command{Name: "wave"})
	s := r.Stream(io.Discard)
	if s.Last() != "" {
		t.Errorf("of nothing: %q", s.Last())
	}
	for range 3 {
		_, err := io.WriteString(s, strings.Repeat("early\n", 7)+strings.Repeat("late\n", 18))
		must.Do(t, err)
	}
	_, err := io.WriteString(s, "the end")
	must.Do(t, err)
	must.Do(t, s.Close())
	if want := "early\n" + strings.Repeat("late\n", 18) + "the end"; s.Last() != want {
		t.Errorf("got %q", s.Last())
	}
}
