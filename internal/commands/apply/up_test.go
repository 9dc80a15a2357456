package apply

import (
	"context"
	"errors"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/fault"
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

// A stage opens what it needs, once, and does not run if there is nothing to do.
func TestStage(t *testing.T) {
	d := testkit.New(t)
	u := &upRun{Run: d.Run, opened: run.Credentials}
	ran := 0
	s := stage{opens: run.State, run: func(context.Context, *upRun) (string, error) { ran++; return "done", nil }}
	if _, err := u.do(t.Context(), s); err == nil || ran > 0 {
		t.Errorf("without a passphrase: %v, it ran %d times", err, ran)
	}
	s.opens = run.Credentials
	if result, err := u.do(t.Context(), s); result != "done" || err != nil || ran != 1 {
		t.Errorf("got %s, %v, it ran %d times", result, err, ran)
	}
	s.without = func(*upRun) string { return "no wood" }
	if result, err := u.do(t.Context(), s); result != "no wood" || err != nil || ran != 1 {
		t.Errorf("got %s, %v, it ran %d times", result, err, ran)
	}
	for want, without := range map[string]func(*upRun) string{"no hosts": noHosts, "no playbook": noPlaybook, "no checks": noChecks} {
		if got := without(u); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	u.Environment.Deploy = &environment.Deploy{}
	u.Environment.Verify = &environment.Verify{HTTPS: &environment.HTTPSCheck{}}
	u.made = made{{hosts: []remote.Host{{}}}}
	for _, without := range []func(*upRun) string{noHosts, noPlaybook, noChecks} {
		if got := without(u); got != "" {
			t.Errorf("got %q", got)
		}
	}
}
