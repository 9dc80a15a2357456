package testkit

import (
	"os"
	"strconv"
	"testing"
)

// Deep marks a test that the gate leaves out, for it takes minutes, strikes at random moments, or needs
// the machine for itself. It runs under `make test-all`, and whenever go test runs without -short.
func Deep(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("deep: " + why)
	}
}

// Kills is how often a test that kills at random moments does so: SLIPWAY_KILLS, or usual if that is not set.
func Kills(t testing.TB, usual int) int {
	t.Helper()
	text := os.Getenv("SLIPWAY_KILLS")
	if text == "" {
		return usual
	}
	kills, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SLIPWAY_KILLS: %v", err)
	}
	return kills
}
