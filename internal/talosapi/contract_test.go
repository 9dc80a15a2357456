package talosapi_test

import (
	"testing"

	"slipway/internal/testkit/machines"
)

// The simulated machines keep the promises of real ones.
func TestContract(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.13.0", "v1.14.1"} {
		t.Run(version, func(t *testing.T) {
			c := machines.New(t, 1, version)
			machines.Contract(t, c.Spec, c.Bundle)
		})
	}
}
