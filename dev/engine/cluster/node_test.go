package cluster

import (
	"errors"
	"testing"

	"slipway/dev/engine/console"
)

// Every node has an address of its own, and pods of its own, and neither is the gateway's.
func TestAddress(t *testing.T) {
	taken := map[string]string{gateway.String(): "the gateway", network.Addr().String(): "the network"}
	for _, kind := range []string{"cp-", "worker-"} {
		for _, digit := range "123456789" {
			name := kind + string(digit)
			address, err := Address(name)
			if err != nil {
				t.Fatal(err)
			}
			if !network.Contains(address) {
				t.Errorf("%s has %s", name, address)
			}
			for _, key := range []string{address.String(), pods(address).String()} {
				if other := taken[key]; other != "" {
					t.Errorf("%s and %s have %s", name, other, key)
				}
				taken[key] = name
			}
		}
	}
	if got := Describe([]string{"cp-1", "worker-2"}); got != "cp-1 198.18.87.11, worker-2 198.18.87.22" {
		t.Error(got)
	}
}

// A name becomes part of paths, of an interface and of a container.
func TestAddressRefuses(t *testing.T) {
	for _, name := range []string{"", "cp-0", "cp-10", "cp", "worker-", "node-1", "cp-1/..", "../cp-1", "cp-1\n"} {
		_, err := Address(name)
		if r, ok := errors.AsType[*console.Refusal](err); !ok || r.Hint == "" {
			t.Errorf("%q: %v", name, err)
		}
		rack := Rack{}
		for verb, do := range map[string]error{"on": rack.On(t.Context(), name), "off": rack.Off(t.Context(), name), "wipe": rack.Wipe(t.Context(), name)} {
			if do == nil {
				t.Errorf("%s %q is done", verb, name)
			}
		}
	}
}
