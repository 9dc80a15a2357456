package wait

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestFor: without a Wait of its own, a client sleeps no longer than ctx.
func TestFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := For(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := For(t.Context(), time.Microsecond); err != nil {
		t.Error(err)
	}
}
