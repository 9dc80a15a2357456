package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getsops/sops/v3/logging"

	"slipway/internal/fault"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// runs runs f as a command called "probe", and returns its result.
func runs(t *testing.T, o run.Options, f func(context.Context, *run.Run) error) run.Result {
	t.Helper()
	o.Out, o.Stdout, o.Stderr = t.TempDir(), io.Discard, io.Discard
	code := run.Main(t.Context(), run.Command{Name: "probe", Run: f}, o)
	data, err := os.ReadFile(filepath.Join(o.Out, "result.json"))
	must.Do(t, err)
	var result run.Result
	must.Do(t, json.Unmarshal(data, &result))
	if result.ExitCode != code {
		t.Errorf("the exit code is %d, and the result says %d", code, result.ExitCode)
	}
	return result
}

// A run leaves in its result what it was, and takes the usual times where it is given none.
func TestRun(t *testing.T) {
	quick := journal.Beat{Every: time.Second}
	for name, c := range map[string]struct {
		given, want run.Options
	}{
		"no times": {run.Options{}, run.Options{DeadAfter: journal.DeadAfter, Beat: journal.DefaultBeat}},
		"times":    {run.Options{DeadAfter: time.Second, Beat: quick}, run.Options{DeadAfter: time.Second, Beat: quick}},
	} {
		t.Run(name, func(t *testing.T) {
			c.given.Env, c.given.ID = "test", "run01"
			result := runs(t, c.given, func(ctx context.Context, r *run.Run) error {
				if r.DeadAfter != c.want.DeadAfter || r.Beat != c.want.Beat {
					t.Errorf("%v, %+v", r.DeadAfter, r.Beat)
				}
				if _, ends := ctx.Deadline(); ends {
					t.Error("it has a deadline that nobody asked for")
				}
				return r.Timed("think", func() error { return nil })
			})
			if result.Version != 1 || result.Stage != "probe" || result.Environment != "test" || result.RunID != "run01" || result.Status != "done" {
				t.Errorf("%+v", result)
			}
			if len(result.Timings) != 1 || result.Timings[0].Step != "think" {
				t.Errorf("%+v", result.Timings)
			}
		})
	}
}

// A run that its deadline ended was interrupted, whatever the stage made of it. The stage's hint stays.
func TestDeadline(t *testing.T) {
	for want, err := range map[string]error{
		"the run was stopped before it finished":                  nil,
		"the run was stopped before it finished\nno wood is left": fault.Refuse("chop some", "no wood is left"),
	} {
		result := runs(t, run.Options{Deadline: time.Millisecond}, func(ctx context.Context, _ *run.Run) error {
			<-ctx.Done()
			return err
		})
		if result.ExitCode != run.Failed || result.Status != "interrupted" || result.Error != want || (result.Hint != "") != (err != nil) {
			t.Errorf("%+v", result)
		}
	}
}

// A step that fails takes its time, too.
func TestTimed(t *testing.T) {
	r, _, _ := testkit.Quiet(t, run.Command{Name: "plan"})
	failure := errors.New("it fails")
	synctest.Test(t, func(t *testing.T) {
		err := r.Timed("try", func() error { time.Sleep(2 * time.Second); return failure })
		if want := []run.Timing{{Step: "try", Seconds: 2}}; !errors.Is(err, failure) || !slices.Equal(r.Result.Timings, want) {
			t.Errorf("%v, %+v", err, r.Result.Timings)
		}
	})
}

// The exit code says how a run ended, and the result and the console say the same.
func TestEnd(t *testing.T) {
	refused := fault.Refuse("chop some", "no wood is left")
	tooLate := run.Result{ExitCode: run.Half, Status: "unfinished", Error: "no wood is left", Hint: "chop some"}
	const said = "slipway: error: no wood is left\nslipway: hint: chop some\n"
	for name, c := range map[string]struct {
		err     error
		changes bool
		want    run.Result
		stderr  string
		before  run.Result
	}{
		"done":                     {nil, false, run.Result{ExitCode: run.Done, Status: "done"}, "", run.Result{}},
		"with changes":             {nil, true, run.Result{ExitCode: run.Changes, Status: "changes"}, "", run.Result{}},
		"failed":                   {errors.New("no wood is left"), false, run.Result{ExitCode: run.Failed, Status: "failed", Error: "no wood is left"}, "slipway: error: no wood is left\n", run.Result{}},
		"failed, with changes":     {errors.New("no wood is left"), true, run.Result{ExitCode: run.Failed, Status: "failed", Error: "no wood is left"}, "slipway: error: no wood is left\n", run.Result{}},
		"refused":                  {fault.Refuse("chop some", "no wood is left"), true, run.Result{ExitCode: run.BadInput, Status: "refused", Error: "no wood is left", Hint: "chop some"}, "slipway: error: no wood is left\nslipway: hint: chop some\n", run.Result{}},
		"refused, beside an error": {errors.Join(errors.New("stopped"), fault.Refuse("chop some", "no wood")), false, run.Result{ExitCode: run.BadInput, Status: "refused", Error: "stopped\nno wood", Hint: "chop some"}, "slipway: error: stopped\nno wood\nslipway: hint: chop some\n", run.Result{}},

		// What is refused after something was changed is half done.
		"refused after a layer":       {err: refused, want: tooLate, stderr: said, before: run.Result{Layers: []*run.LayerResult{{Name: "net", Applied: true}, {Name: "app"}}}},
		"refused before all layers":   {err: refused, want: run.Result{ExitCode: run.BadInput, Status: "refused", Error: "no wood is left", Hint: "chop some"}, stderr: said, before: run.Result{Layers: []*run.LayerResult{{Name: "net"}}}},
		"refused after a host":        {err: refused, want: tooLate, stderr: said, before: run.Result{Hosts: []run.HostResult{{Name: "a"}, {Name: "b", Changed: 1}}}},
		"refused after unchanged":     {err: refused, want: run.Result{ExitCode: run.BadInput, Status: "refused", Error: "no wood is left", Hint: "chop some"}, stderr: said, before: run.Result{Hosts: []run.HostResult{{Name: "a", OK: 3}}}},
		"failed after a layer":        {err: errors.New("x"), want: run.Result{ExitCode: run.Failed, Status: "failed", Error: "x"}, stderr: "slipway: error: x\n", before: run.Result{Layers: []*run.LayerResult{{Applied: true}}}},
		"a part is done":              {err: fault.New(fault.Unfinished, "chop some", "no wood is left"), want: tooLate, stderr: said},
		"interrupted, and it says so": {err: fault.New(fault.Interrupted, "", "x"), want: run.Result{ExitCode: run.Failed, Status: "interrupted", Error: "x"}, stderr: "slipway: error: x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, stderr := testkit.Quiet(t, run.Command{Name: "apply"})
			s.Begun, s.Changed = time.Now().Add(-time.Minute), c.changes
			s.Result.Layers, s.Result.Hosts = c.before.Layers, c.before.Hosts
			code := s.End(c.err)
			r := s.Result
			if code != c.want.ExitCode || r.ExitCode != c.want.ExitCode || r.Status != c.want.Status || r.Error != c.want.Error || r.Hint != c.want.Hint {
				t.Errorf("code %d, %+v", code, r)
			}
			if r.Seconds < 60 {
				t.Errorf("it took %v seconds", r.Seconds)
			}
			if got := stderr.String(); got != c.stderr {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// A run that cannot leave its result has failed, unless it was refused.
func TestEndWithoutResult(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		changes bool
		want    int
	}{
		"done": {nil, false, run.Failed}, "with changes": {nil, true, run.Failed}, "failed": {errors.New("x"), false, run.Failed}, "refused": {fault.Refuse("x", "x"), false, run.BadInput},
	} {
		for _, stage := range []string{"plan", "apply"} {
			r, _, stderr := testkit.Quiet(t, run.Command{Name: stage})
			r.Out, r.Changed = filepath.Join(r.Out, "file", "out"), c.changes
			must.Do(t, os.WriteFile(filepath.Dir(r.Out), nil, 0o600))
			if code := r.End(c.err); code != c.want || !strings.Contains(stderr.String(), "slipway: error: mkdir ") {
				t.Errorf("%s, %s: code %d: %s", stage, name, code, stderr.String())
			}
		}
	}
}

// The arguments of progress lines are masked; their own words and names are not.
func TestSay(t *testing.T) {
	const secret = "canary-of-the-cloud"
	for name, c := range map[string]struct {
		arg  any
		want string
	}{
		"a text":           {"it is " + secret, "it is ***"},
		"an error":         {errors.New("it is " + secret), "it is ***"},
		"one with a text":  {&url.URL{Scheme: "https", Host: "example.org", Path: secret}, "https://example.org/***"},
		"a number":         {4711, "4711"},
		"a word of ours":   {run.Word(secret), secret},
		"the environment":  {"prod-secret", "prod-secret"},
		"a layer":          {"net-secret", "net-secret"},
		"part of a layer":  {"net-secret of it", "*** of it"},
		"another's layer":  {"app-secret", "***"},
		"a control's text": {"a\x1b[31mb", "a[31mb"},
	} {
		r, _, stderr := testkit.Quiet(t, run.Command{Name: "plan"})
		r.Env = "prod-secret"
		r.Result.Layers = []*run.LayerResult{{Name: "db"}, {Name: "net-secret"}}
		r.Mask.Add(secret, "prod-secret", "net-secret", "app-secret", "progress")
		r.Say("progress: %v", c.arg)
		if got := stderr.String(); got != "progress: "+c.want+"\n" {
			t.Errorf("%s: it says %q, want %q", name, got, c.want)
		}
	}
}

// The summary of a stage has its report and its error as they are; that of a plan is what
// a reviewer sees.
func TestSummary(t *testing.T) {
	for name, c := range map[string]struct {
		result run.Result
		text   string
		want   string
	}{
		"nothing":        {run.Result{Stage: "environments", Status: "done"}, "", "## environments: done\n\n"},
		"an environment": {run.Result{Stage: "apply", Environment: "prod", Status: "done"}, "", "## apply of prod: done\n\n"},
		"a report":       {run.Result{Stage: "apply", Environment: "prod", Status: "done"}, "one\ntwo\n", "## apply of prod: done\n\n```\none\ntwo\n```\n"},
		"an error":       {run.Result{Stage: "fmt", Status: "failed", Error: "no wood\nis left"}, "", "## fmt: failed\n\n\n```\nno wood\nis left\n```\n"},
		"both":           {run.Result{Stage: "fmt", Status: "failed", Error: "no wood"}, "one\n", "## fmt: failed\n\n```\none\n```\n\n```\nno wood\n```\n"},
	} {
		if got := (&run.Run{Result: c.result}).SummaryOf(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	r, _, _ := testkit.Quiet(t, run.Command{Name: "plan", Summary: func(*run.Run) (string, error) { return "of its own", nil }})
	r.End(nil)
	data, err := os.ReadFile(filepath.Join(r.Out, "summary.md"))
	must.Do(t, err)
	if string(data) != "of its own" {
		t.Errorf("the summary is %s", data)
	}
}

// The sops library logs what it reads. Its log is masked like all output.
func TestLibraryLogs(t *testing.T) {
	const canary = "canary-in-a-log-Kq7Zt2"
	var stderr bytes.Buffer
	c := run.Command{Name: "probe", Run: func(_ context.Context, r *run.Run) error {
		r.Mask.Add(canary)
		for _, logger := range logging.Loggers {
			logger.Warn("it is " + canary)
		}
		return nil
	}}
	code := run.Main(t.Context(), c, run.Options{Out: t.TempDir(), Stdout: io.Discard, Stderr: &stderr})
	if code != run.Done || !strings.Contains(stderr.String(), "it is ***") || strings.Contains(stderr.String(), canary) {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
