// Package must contains the assertions that many tests share. Only tests import it.
package must

import (
	"errors"
	"strings"
	"testing"

	"slipway/internal/refusal"
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
	var r *refusal.Error
	if !errors.As(err, &r) || !strings.Contains(r.Message, message) || !strings.Contains(r.Hint, hint) {
		t.Errorf("got %v (%+v), want %q, hint %q", err, r, message, hint)
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
