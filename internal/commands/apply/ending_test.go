package apply

import (
	"strings"
	"testing"

	"slipway/internal/tofu"
)

// Only an error of tofu's, about this, says that the state was not saved.
func TestStateNotSaved(t *testing.T) {
	for d, want := range map[tofu.Diagnostic]bool{
		{Severity: "error", Summary: "Failed to save state"}:               true,
		{Severity: "error", Summary: "Failed to persist state to backend"}: true,
		{Severity: "warning", Summary: "Failed to save state"}:             false,
		{Severity: "error", Summary: "quota exceeded"}:                     false,
		{Severity: "error", Summary: "It says: Failed to save state"}:      false,
	} {
		if got := (ending{diagnostics: []tofu.Diagnostic{d}}).stateNotSaved(); got != want {
			t.Errorf("%+v: %v", d, got)
		}
	}
}

// How tofu ended says whether the state surely records what was done.
func TestEnding(t *testing.T) {
	complains := func(summary string) []tofu.Diagnostic {
		return []tofu.Diagnostic{{Severity: "error", Summary: summary}}
	}
	for name, c := range map[string]struct {
		e    ending
		want string // empty: no doubt
	}{
		"done":                           {},
		"failed":                         {e: ending{code: 1}},
		"never started":                  {e: ending{err: tofu.ErrNotStarted}},
		"killed":                         {e: ending{err: tofu.ErrKilled}, want: "everything that the apply did"},
		"a crash":                        {e: ending{code: 11}, want: "tofu ended with exit code 11"},
		"an exit code that no apply has": {e: ending{code: 2}, want: "tofu ended with exit code 2"},
		"a lost state":                   {e: ending{code: 1, lost: "test.tfstate.age"}, want: "the state could not be written: an encrypted copy is in recovery/test.tfstate.age"},
		"not saved":                      {e: ending{code: 1, diagnostics: complains("Failed to save state")}, want: "no copy of it is left"},
		"not persisted":                  {e: ending{code: 1, diagnostics: complains("Failed to persist state to backend")}, want: "no copy of it is left"},
		"another error":                  {e: ending{code: 1, diagnostics: complains("quota exceeded")}},
	} {
		err := c.e.doubt()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if c.e.succeeded() != (name == "done") {
			t.Errorf("%s: succeeded is %v", name, c.e.succeeded())
		}
	}
}

// Only an error of tofu's says that its plan is stale.
func TestStale(t *testing.T) {
	for want, d := range map[bool]tofu.Diagnostic{
		true:  {Severity: "error", Summary: "Saved plan is stale"},
		false: {Severity: "warning", Summary: "Saved plan is stale"},
	} {
		if got := (ending{diagnostics: []tofu.Diagnostic{d}}).stale(); got != want {
			t.Errorf("%+v: %v", d, got)
		}
	}
}
