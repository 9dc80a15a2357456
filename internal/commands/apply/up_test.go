package apply

import (
	"errors"
	"testing"

	"slipway/internal/fault"
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
