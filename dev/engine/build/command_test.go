package build

import "testing"

func TestOffline(t *testing.T) {
	for text, want := range map[string]bool{
		`Get "https://proxy/x": dial tcp: lookup proxy: no such host`: true,
		"E: Could not connect to deb.debian.org:80":                   true,
		"undefined: foo": false,
	} {
		if offline(text) != want {
			t.Errorf("%q: got %v", text, !want)
		}
	}
}
