package testkit

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/confine"
	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// NewSealedShop is a shop whose state is encrypted in the store, as in an environment.
func NewSealedShop(t *testing.T, code string) *Desk {
	t.Helper()
	d := NewShop(t, "")
	d.Environment.State.S3 = &environment.S3{Bucket: "state", Region: "us-east-1", Endpoint: d.URL}
	d.Credentials = map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", state.Passphrase: Passphrase}
	env, err := d.Variables()
	must.Do(t, err)
	d.Tool = tofu.Runner{Dir: d.Dir, Env: env, Stderr: &d.Printed}
	d.File("main.tf", "terraform {\n  backend \"s3\" {}\n}\n"+code)
	return d
}

// NewShop returns a desk with the real OpenTofu, whose state is an unencrypted file: each command
// takes a tenth of a second. Locks and journals are in the store.
func NewShop(t *testing.T, code string, files ...string) *Desk {
	t.Helper()
	if _, err := exec.LookPath("tofu"); err != nil {
		t.Fatal("tofu is not in PATH: make test puts it there")
	}
	d := New(t)
	d.Work = ForTools(t)
	must.Do(t, workspace.Folder(d.Run).Open())
	must.Do(t, workspace.Folder(d.Run).Make("home", "tmp", "data", "plans", "repository"))
	d.Dir = d.Path("repository")
	d.Tool = workspace.Bare(d.Run, "", &d.Printed)
	d.Row = &run.LayerResult{Name: "test", Changes: map[string]int{}}
	d.Result.Layers = []*run.LayerResult{d.Row}
	d.File("main.tf", code)
	for pair := range slices.Chunk(files, 2) {
		d.File(pair[0], pair[1])
	}
	if exit, err := d.Tool.Run(t.Context(), io.Discard, "init", "-input=false", "-no-color"); err != nil || exit != 0 {
		t.Fatalf("tofu init: %d, %v\n%s", exit, err, d.Printed.String())
	}
	d.Printed.Reset()
	return d
}

// File writes a file of the root module, for the tools.
func (d *Desk) File(name, text string) {
	d.T.Helper()
	path := filepath.Join(d.Dir, name)
	must.Do(d.T, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(d.T, os.WriteFile(path, []byte(text), 0o644))
	must.Do(d.T, confine.Give(d.Dir))
}

// Apply applies the code, without a lock or a journal.
func (d *Desk) Apply() {
	d.T.Helper()
	summary, err := d.Plan(d.T.Context(), tofu.Plan{})
	must.Do(d.T, err)
	if !summary.Empty() {
		must.Do(d.T, d.Tofu(d.T.Context(), "apply", tofu.Apply{Plan: d.PlanFile(), Locked: true}.Args()...))
	}
}

// addresses in the state.
func (d *Desk) InState() string {
	d.T.Helper()
	recorded, err := d.Recorded(d.T.Context())
	must.Do(d.T, err)
	return strings.Join(slices.Sorted(maps.Keys(recorded)), " ")
}

func (d *Desk) Progress() string { return d.Stderr.(interface{ String() string }).String() }

const ShopCode = `
variable "password" {
  default   = "a-password-of-the-shop"
  sensitive = true
}
resource "terraform_data" "one" { input = "one" }
resource "terraform_data" "two" { input = var.password }
output "name" { value = terraform_data.one.output }
output "password" {
  value     = var.password
  sensitive = true
}
`
