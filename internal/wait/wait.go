// Package wait waits, and can be stopped.
package wait

import (
	"context"
	"time"
)

// For waits for a while. It is the error of ctx if that ends first.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
