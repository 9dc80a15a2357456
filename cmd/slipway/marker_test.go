//go:build blackbox

package main

import (
	"bytes"
	"strings"
	"testing"

	"slipway/internal/run"
	"slipway/internal/testkit"
)

// A marker of an earlier version is read until bootstrap renews it, which it does once.
func TestBlackBoxMarkerIsRenewed(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done).says(t, "marked it")
	p.put("test/environment.json", func([]byte) []byte {
		return []byte(`{"version":1,"environment":"test","proof":"` + testkit.FastProof("test", passphrase) + `"}`)
	})
	p.run("state-list").must(t, run.Done)
	p.run("bootstrap").must(t, run.Done).says(t, "marked it")
	p.put("test/environment.json", func(now []byte) []byte {
		if !bytes.Contains(now, []byte(`"version":2`)) || bytes.Contains(now, []byte(testkit.FastProof("test", passphrase))) {
			t.Errorf("the marker is %s", now)
		}
		return now
	})
	if again := p.run("bootstrap").must(t, run.Done); strings.Contains(again.stdout, "marked it") {
		t.Errorf("it is renewed each time: %s", again.stdout)
	}
}
