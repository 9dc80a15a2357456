package testkit

import "testing"

// Deep marks a test that the gate leaves out, for it takes minutes, strikes at random moments, or needs
// the machine for itself. It runs under `make test-all`, and whenever go test runs without -short.
func Deep(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("deep: " + why)
	}
}
