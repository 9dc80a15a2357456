package main

import (
	"strings"
	"testing"
)

// Where an image cannot be pulled from the registry of its name, it is built under a
// name that the official images have, and our own ones have one that nobody else has.
func TestSiteImages(t *testing.T) {
	for pin, prefix := range map[string]string{
		"CADDY": "docker.io/library/caddy:", "MOSQUITTO": "docker.io/library/eclipse-mosquitto:2.0.",
		"BACKEND": "docker.io/slipway/backend:", "POWERSYNC": "docker.io/slipway/powersync-standin:",
	} {
		i, ok := imageFor(pin)
		if !ok || !strings.HasPrefix(i.Reference, prefix) || len(i.Config.Cmd) == 0 {
			t.Errorf("%s: %+v", pin, i)
		}
	}
	if a, b := backendImage.DebianRoot(""), powersyncImage.DebianRoot(""); a.Key() != b.Key() {
		t.Errorf("%s and %s are not one", a.Key(), b.Key())
	}
}
