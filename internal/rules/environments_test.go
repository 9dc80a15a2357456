package rules

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The environments are one system: what differs between them is in settings.tf, so
// that what was tried on local and test is what runs in prod.
func TestEnvironmentsAreOneSystem(t *testing.T) {
	const root = "../../environments/"
	for _, name := range []string{"main.tf", "outputs.tf", "variables.tf", "versions.tf"} {
		want, err := os.ReadFile(filepath.Join(root, "test", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, environment := range []string{"local", "preprod", "prod"} {
			got, err := os.ReadFile(filepath.Join(root, environment, name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s/%s is not that of test", environment, name)
			}
		}
	}
}
