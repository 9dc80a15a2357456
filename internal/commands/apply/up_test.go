package apply

import (
	"context"
	"errors"
	"slices"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/reconcile"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

func TestStageTable(t *testing.T) {
	got := stageTable([]stageRow{{"bootstrap", "done", "", 0.52}, {"deploy", "failed", "dagger call deploy --env=test", 98}, {name: "verify", result: "not run"}})
	const want = `STAGE      RESULT   SECONDS  NEXT STEP
bootstrap  done     0.5      -
deploy     failed   98.0     dagger call deploy --env=test
verify     not run  -        -
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestNextStep(t *testing.T) {
	for want, err := range map[string]error{
		"the hint":     fault.Refuse("the hint", "refused"),
		"its own hint": fault.Fail("its own hint", "x"),
		"repeat":       errors.Join(errors.New("x"), fault.Fail("", "y")),
	} {
		if got := nextStep(err, "repeat"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A stage opens what it needs, once, and does not run in an environment that does not have it.
func TestStage(t *testing.T) {
	d := testkit.New(t)
	u := &upRun{Run: d.Run, opened: run.Credentials}
	ran := 0
	s := stage{opens: run.State, run: func(context.Context, *upRun) (string, error) { ran++; return "done", nil }}
	if row, err := u.do(t.Context(), s); err == nil || ran > 0 || row.result != "failed" {
		t.Errorf("without a passphrase: %v, it ran %d times: %+v", err, ran, row)
	}
	s.opens = run.Credentials
	if row, err := u.do(t.Context(), s); err != nil || ran != 1 || row.result != "done" {
		t.Errorf("got %v, it ran %d times: %+v", err, ran, row)
	}
	s.needed = func(*upRun) bool { return false }
	if row, err := u.do(t.Context(), s); err != nil || ran != 1 || row != nil {
		t.Errorf("got %v, it ran %d times: %+v", err, ran, row)
	}
	needed := func() (all []bool) {
		for _, s := range stages {
			all = append(all, s.needed == nil || s.needed(u))
		}
		return all
	}
	if got, want := needed(), []bool{true, true, false, false, false, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("an environment without anything has the stages %v", got)
	}
	u.Environment.Deploy = &environment.Deploy{}
	u.Environment.Verify = &environment.Verify{HTTPS: &environment.HTTPSCheck{}}
	u.made = made{{hosts: []remote.Host{{}}}}
	u.cluster = &clusterPart{}
	u.flux = &reconcile.Installer{}
	if got := needed(); slices.Contains(got, false) {
		t.Errorf("one with everything has the stages %v", got)
	}
}
