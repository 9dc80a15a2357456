// Package must contains the assertions that many tests share. Only tests import it.
package must

import (
	"errors"
	"strings"
	"testing"

	"slipway/internal/fault"
	"slipway/internal/testkit/calls"
	"slipway/internal/tofu"
)

// NotStarted fails unless err says that this tofu command was the first that did not start.
func NotStarted(t *testing.T, err error, command string) {
	t.Helper()
	if !errors.Is(err, tofu.ErrNotStarted) || !strings.HasPrefix(err.Error(), "tofu was not started: "+command+":") {
		t.Errorf("got %v", err)
	}
}

// Refuse fails unless err is a refusal with that message and that hint.
func Refuse(t *testing.T, err error, message, hint string) {
	t.Helper()
	r, ok := fault.Refusal(err)
	if !ok || !strings.Contains(r.Error(), message) || !strings.Contains(r.Hint, hint) {
		t.Errorf("got %v (%+v), want %q, hint %q", err, r, message, hint)
		return
	}
	if err := calls.Check(r.Hint); err != nil {
		t.Errorf("the hint cannot be followed: %v", err)
	}
}

// Hint fails unless err, which is no refusal, names this next step.
func Hint(t *testing.T, err error, want string) {
	t.Helper()
	e, ok := fault.Of(err)
	if !ok || e.Kind == fault.Refused || e.Hint != want {
		t.Errorf("got %v (%+v), want hint %q", err, e, want)
	}
	if err := calls.Check(want); err != nil {
		t.Errorf("the hint cannot be followed: %v", err)
	}
}

// Fail fails unless err contains all of these texts.
func Fail(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Error("it does not fail")
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("it does not say %q: %v", text, err)
		}
	}
}

func Do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
