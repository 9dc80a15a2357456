package apply

import (
	"errors"
	"testing"

	"slipway/internal/refusal"
	"slipway/internal/run"
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
		"the hint":     refusal.New("the hint", "refused"),
		"its own hint": &run.EndError{Status: "failed", Hint: "its own hint", Err: errors.New("x")},
		"repeat":       errors.Join(errors.New("x"), &run.EndError{Err: errors.New("y")}),
	} {
		if got := nextStep(err, "repeat"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
