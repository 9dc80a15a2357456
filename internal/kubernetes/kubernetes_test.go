package kubernetes_test

import (
	"context"
	"testing"
	"time"

	"slipway/internal/kubernetes"
)

// A login is valid as long as its call may last.
func TestLoginLifetime(t *testing.T) {
	for limit, want := range map[time.Duration][2]time.Duration{
		time.Minute:      {0, time.Minute},
		55 * time.Minute: {50 * time.Minute, 55 * time.Minute},
		9 * time.Hour:    {time.Hour, time.Hour},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		if got := kubernetes.LoginLifetime(ctx); got < want[0] || got > want[1] {
			t.Errorf("%s: %s", limit, got)
		}
		cancel()
	}
	if got := kubernetes.LoginLifetime(context.Background()); got != 15*time.Minute {
		t.Errorf("without a deadline: %s", got)
	}
}
