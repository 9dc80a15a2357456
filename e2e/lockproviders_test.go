//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/testkit"
)

// TestLockProviders shows what needs no registry: the refusal where the providers are
// built from source, and that nothing is written where there is nothing to lock. The rest
// is in TestBlackBoxLockProviders.
func TestLockProviders(t *testing.T) {
	testkit.Deep(t, "it downloads providers")
	c := newCheckout(t)
	pins, err := os.ReadFile(pinsInUse(t))
	if err != nil {
		t.Fatal(err)
	}
	var without strings.Builder
	for line := range strings.Lines(string(pins)) {
		if !strings.HasPrefix(line, "PROVIDERS=") {
			without.WriteString(line)
		}
	}
	lock := func(pins string) result {
		t.Helper()
		file := filepath.Join(t.TempDir(), "pins.env")
		c.file(t, file, pins)
		// The age identity is not given: it needs none.
		return runIn(t, c.dir, nil, "dagger", "--progress=plain", "-m", c.module, "call", "-y", "--source="+c.dir, "--pins="+file, "lock-providers", "--env=local")
	}
	lock(without.String()+"PROVIDERS="+pinned(t, "DEBIAN")+"\n").refuses(t, "this machine builds the providers from source", "on a machine without PINS in .env")

	files, err := filepath.Glob(filepath.Join(c.dir, "environments/local/*.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("environment local has the files %q: %v", files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	c.file(t, filepath.Join(c.dir, "environments/local/main.tf"), "terraform {}\n")
	lock(without.String()).must(t)
	if _, err := os.Stat(filepath.Join(c.dir, "environments/local/.terraform.lock.hcl")); !os.IsNotExist(err) {
		t.Errorf("it wrote a lock file: %v", err)
	}
}
