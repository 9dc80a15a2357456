package layer_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"slipway/internal/must"
	"slipway/internal/testkit"
)

// A provider that the lock file does not accept has a hint of its own, which depends on the machine.
func TestRefuseProvider(t *testing.T) {
	const (
		another = "│ the current package for registry.opentofu.org/ovh/ovh 1.4.0 doesn't match any\n│ of the checksums previously recorded in the dependency lock file"
		missing = "│ Error: Provider dependency changes detected: the lock file is\n│ read-only"
		lock    = "dagger call -y lock-providers --env=test"
	)
	failure := errors.New("tofu init of test failed")
	refuse := func(pins string) func(said string) error {
		d := testkit.New(t)
		d.PinsFile = filepath.Join(t.TempDir(), "pins.env")
		must.Do(t, os.WriteFile(d.PinsFile, []byte(pins), 0o600))
		return func(said string) error { return d.RefuseProvider(said, failure) }
	}
	const image = "@sha256:0000000000000000000000000000000000000000000000000000000000000000\n"
	elsewhere, here := refuse("DEBIAN=debian:trixie"+image), refuse("PROVIDERS=slipway/providers:1"+image)
	must.Refuse(t, elsewhere(another), "provider registry.opentofu.org/ovh/ovh 1.4.0 is a different build", lock)
	must.Refuse(t, here(another), "this machine builds its own from source", "use a machine that reaches the registry, one without PINS in .env")
	for _, refuse := range []func(string) error{elsewhere, here} {
		must.Refuse(t, refuse(missing), "the lock file of test does not match the providers", lock)
		if err := refuse("no such host"); !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
	}
}
