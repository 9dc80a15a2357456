package tofu

import (
	"slices"
	"strings"
	"testing"
)

// TestCommandLines compares each command line word by word, once with nothing set and
// once with everything.
func TestCommandLines(t *testing.T) {
	for name, c := range map[string]struct {
		got  []string
		want string
	}{
		"init, defaults": {Init{}.Args(), "init -input=false -no-color -reconfigure"},
		"init, everything": {
			Init{Backend: map[string]string{"key": "test/platform.tfstate", "bucket": "b"}, ReadOnly: true}.Args(),
			"init -input=false -no-color -reconfigure -lockfile=readonly -backend-config=bucket=b -backend-config=key=test/platform.tfstate",
		},
		"init, of the code alone": {Init{NoBackend: true}.Args(), "init -input=false -no-color -backend=false"},
		"plan, defaults":          {Plan{Out: "p"}.Args(), "plan -input=false -json -detailed-exitcode -lock=false -out=p"},
		"plan, everything": {
			Plan{Out: "p", Destroy: true, Targets: []string{`a.b["c"]`, "d.e"}}.Args(),
			`plan -input=false -json -detailed-exitcode -lock=false -out=p -destroy -target=a.b["c"] -target=d.e`,
		},
		"apply, defaults":   {Apply{Plan: "p"}.Args(), "apply -input=false -json p"},
		"apply, everything": {Apply{Plan: "p", Locked: true}.Args(), "apply -input=false -json -lock=false p"},
		"import":            {ImportArgs("a.b", "id"), "import -input=false -no-color -lock=false a.b id"},
		"state rm":          {StateRemoveArgs("a.b", "c.d"), "state rm -lock=false a.b c.d"},
		"providers lock":    {LockArgs("linux_amd64", "darwin_arm64"), "providers lock -json -platform=linux_amd64 -platform=darwin_arm64"},
		"force-unlock":      {ForceUnlockArgs("id"), "force-unlock -force id"},
	} {
		t.Run(name, func(t *testing.T) {
			if want := strings.Split(c.want, " "); !slices.Equal(c.got, want) {
				t.Errorf("got  %q\nwant %q", c.got, want)
			}
		})
	}
}
