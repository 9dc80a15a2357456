//go:build blackbox

package stage

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/confine"
	"slipway/internal/journal"
	"slipway/internal/tofu"
)

// NewShop is a desk with the real OpenTofu, whose state is a file that is not encrypted:
// each of its commands takes a tenth of a second. Locks and journals are in the store.
func NewShop(t *testing.T, code string, files ...string) *Desk {
	t.Helper()
	if _, err := exec.LookPath("tofu"); err != nil {
		t.Fatal("tofu is not in PATH: make test puts it there")
	}
	d := New(t)
	d.Work = ForTools(t)
	Do(t, Folder(d.Layer.Run).Open())
	Do(t, Folder(d.Layer.Run).Make("home", "tmp", "data", "plans", "root"))
	d.Dir = d.Path("root")
	d.Tool = Bare(d.Layer.Run, d.Dir, &d.Printed)
	d.Row = &LayerResult{Name: "test", Changes: map[string]int{}}
	d.Result.Layers = []*LayerResult{d.Row}
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

// File writes one of the root's, for the tools.
func (d *Desk) File(name, text string) {
	d.T.Helper()
	path := filepath.Join(d.Dir, name)
	Do(d.T, os.MkdirAll(filepath.Dir(path), 0o755))
	Do(d.T, os.WriteFile(path, []byte(text), 0o644))
	Do(d.T, confine.Give(d.Dir))
}

// Apply applies the code, without a lock and a journal.
func (d *Desk) Apply() {
	d.T.Helper()
	summary, err := d.Plan(d.T.Context(), tofu.Plan{})
	Do(d.T, err)
	if !summary.Empty() {
		Do(d.T, d.Tofu(d.T.Context(), "apply", tofu.Apply{Plan: d.PlanFile(), Locked: true}.Args()...))
	}
}

// addresses in the state.
func (d *Desk) InState() string {
	d.T.Helper()
	recorded, err := d.Recorded(d.T.Context())
	Do(d.T, err)
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

// A plan is applied under the lock and a journal, and both are gone behind it.
func TestBlackBoxApplyPlan(t *testing.T) {
	t.Parallel()
	d := NewShop(t, ShopCode+"check \"one\" {\n  assert {\n    condition     = var.password == \"another\"\n    error_message = \"never shown\"\n  }\n}\n")
	summary, err := d.Plan(t.Context(), tofu.Plan{})
	Do(t, err)
	const warning = "warning: Check block assertion failed"
	if text := d.Progress(); !strings.HasPrefix(text, "test: planning\n") || !strings.Contains(text, warning) {
		t.Errorf("the plan says %s", text)
	}
	d.Stderr = &bytes.Buffer{}
	if d.Row.Changes["create"] != 2 || len(d.Row.Changes) != 1 || d.Row.Outputs != 2 || len(summary.Changes) != 2 || len(d.Creates) != 2 {
		t.Errorf("the plan is %+v, %+v, %q", d.Row, summary, d.Creates)
	}
	outputs, err := applyPlan(t.Context(), d.Layer)
	Do(t, err)
	if string(outputs["name"].Value) != `"one"` || !d.Row.Applied || d.Unwritten {
		t.Errorf("outputs %v, applied: %v, unwritten: %v", outputs, d.Row.Applied, d.Unwritten)
	}
	for _, want := range []string{"test: applying\n", warning, "test: terraform_data.one create …\n", "test: terraform_data.one create done\n"} {
		if !strings.Contains(d.Progress(), want) {
			t.Errorf("it does not tell %q: %s", want, d.Progress())
		}
	}
	if strings.Contains(d.Progress(), "never shown") {
		t.Errorf("it tells details, which may hold values: %s", d.Progress())
	}
	if keys, lock := d.Journals(), d.LockID(); len(keys) != 0 || lock != "" {
		t.Errorf("it leaves %q and the lock %q", keys, lock)
	}
	if got := d.InState(); got != "terraform_data.one terraform_data.two" {
		t.Errorf("the state has %s", got)
	}
	if n := len(d.Result.Timings); n != 3 || d.Result.Timings[2].Step != "apply test" {
		t.Errorf("timings: %v", d.Result.Timings)
	}
	// What the state marks is known to the mask.
	if text := d.Mask.String("it is a-password-of-the-shop"); strings.Contains(text, "of-the-shop") {
		t.Error(text)
	}
	d.Stderr = &bytes.Buffer{}
	again, err := d.Plan(t.Context(), tofu.Plan{})
	if err != nil || !again.Empty() || !strings.Contains(d.Progress(), warning) {
		t.Errorf("the next plan is %+v, %v, and says %s", again, err, d.Progress())
	}
	gone, err := d.Plan(t.Context(), tofu.Plan{Destroy: true})
	if err != nil || len(gone.Losses()) != 2 {
		t.Errorf("the plan of the end is %+v, %v", gone, err)
	}
}

// What an apply that failed leaves depends on whether the state surely holds what it did.
func TestBlackBoxApplyPlanFails(t *testing.T) {
	t.Parallel()
	provisioner := func(command string) string {
		return "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"bad\" {\n  depends_on = [terraform_data.one]\n  provisioner \"local-exec\" {\n    command = \"" + command + "\"\n  }\n}\n"
	}
	for name, c := range map[string]struct {
		code      string
		says      []string
		stays     bool // journal and lock
		unwritten bool
		applied   bool // though nobody knows what of it is in the state
	}{
		"in order":       {code: provisioner("exit 1"), says: []string{"tofu apply of test failed"}},
		"tofu is killed": {code: provisioner("kill -9 $PPID"), says: []string{"tofu was killed", "the state may not record dagger call recover --env=test"}, stays: true, unwritten: true},
		"a state is left": {
			code: provisioner("echo '{}' > errored.tfstate"),
			says: []string{"the state of test could not be written: it is kept, sealed, in recovery/test.tfstate.age; then: dagger call recover --env=test"}, stays: true, unwritten: true,
		},
		"a state is left that cannot be read": {code: provisioner("mkfifo errored.tfstate"), says: []string{"errored.tfstate is no regular file"}, stays: true, unwritten: true, applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := NewShop(t, c.code)
			_, err := d.Plan(t.Context(), tofu.Plan{})
			Do(t, err)
			_, err = applyPlan(t.Context(), d.Layer)
			Fail(t, err, c.says...)
			if d.Row.Applied != c.applied || d.Unwritten != c.unwritten {
				t.Errorf("applied: %v, unwritten: %v", d.Row.Applied, d.Unwritten)
			}
			if keys, lock := d.Journals(), d.LockID(); (len(keys) > 0) != c.stays || (lock != "") != c.stays {
				t.Errorf("it leaves %q and the lock %q", keys, lock)
			}
		})
	}
}

// Nothing is begun without the lock.
func TestBlackBoxApplyPlanLocked(t *testing.T) {
	t.Parallel()
	d := NewShop(t, ShopCode)
	_, err := d.Plan(t.Context(), tofu.Plan{})
	Do(t, err)
	d.LockAs("laptop")
	_, err = applyPlan(t.Context(), d.Layer)
	Refuse(t, err, "the state of test is locked by root@host", "dagger call unlock --env=test")
	if got := d.InState(); got != "" {
		t.Errorf("the state has %s", got)
	}
}

// A plan that fails says why, masked, and leaves no summary.
func TestBlackBoxPlannedFails(t *testing.T) {
	t.Parallel()
	d := NewShop(t, ShopCode)
	d.Apply()
	d.File("main.tf", ShopCode+"resource \"terraform_data\" \"three\" {\n  lifecycle {\n    precondition {\n      condition     = terraform_data.one.output == \"two\"\n      error_message = \"it is not two\"\n    }\n  }\n}\n")
	summary, err := d.Plan(t.Context(), tofu.Plan{})
	Fail(t, err, "tofu plan of test failed")
	if !summary.Empty() || !strings.Contains(d.Complaints.String(), "test: error: Resource precondition failed") || !strings.Contains(d.Complaints.String(), "it is not two") {
		t.Errorf("%+v, complaints: %s", summary, d.Complaints.String())
	}
	// OpenTofu leaves what it had planned by then.
	_, err = d.ReadPlan(t.Context())
	Fail(t, err, "the plan of test is incomplete and cannot be applied")
	Do(t, Folder(d.Layer.Run).Write(Inside(d.Layer.Run, d.PlanFile()), []byte("no plan")))
	_, err = d.ReadPlan(t.Context())
	Fail(t, err, "tofu show of test failed")
}

// Outputs are shown, those that are sensitive by name only.
func TestBlackBoxOutputs(t *testing.T) {
	t.Parallel()
	d := NewShop(t, ShopCode)
	if outputs, err := d.Outputs(t.Context()); err != nil || len(outputs) != 0 {
		t.Errorf("%v, %v", outputs, err)
	}
	d.Apply()
	d.Mask = NewMask()
	outputs, err := d.Outputs(t.Context())
	Do(t, err)
	d.ShowOutputs(outputs)
	if text := d.Text(); text != "test: name = one\ntest: password = (sensitive)\n" {
		t.Errorf("it says %s", text)
	}
	if text := d.Mask.String("it is a-password-of-the-shop"); strings.Contains(text, "of-the-shop") {
		t.Error(text)
	}
	d.File("terraform.tfstate", "{")
	if _, err := d.Outputs(t.Context()); err == nil {
		t.Error("a damaged state has outputs")
	}
}

// The state tells its managed resources, those of modules too, and forgets what it is told
// to.
func TestBlackBoxRecorded(t *testing.T) {
	t.Parallel()
	d := NewShop(t, "module \"child\" {\n  source = \"./child\"\n}\ndata \"terraform_remote_state\" \"x\" {\n  backend = \"local\"\n  config = {path = \"${path.module}/other\"}\n}\nresource \"terraform_data\" \"one\" {}\n",
		"child/main.tf", "resource \"terraform_data\" \"within\" {}\n", "other", `{"version": 4, "terraform_version": "1.12.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": []}`)
	d.Apply()
	if got := d.InState(); got != "module.child.terraform_data.within terraform_data.one" {
		t.Errorf("the state has %q", got)
	}
	d.File("terraform.tfstate", "{")
	_, err := d.Recorded(t.Context())
	Fail(t, err, "tofu show of test failed")
}

// What was made is imported: all at once where that changes nothing, else one by one, and
// what a provider refuses is named and left.
func TestBlackBoxTakeIn(t *testing.T) {
	t.Parallel()
	entry := func(name, id string) journal.Entry {
		return journal.Entry{Address: "terraform_data." + name, Action: "create", IDKey: "id", ID: id}
	}
	for name, c := range map[string]struct {
		code string
		made []journal.Entry
		left string
		says []string
		has  string
		once bool // the state is written once

		tells string
	}{
		"nothing": {},
		"at once": {
			code: "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\nresource \"terraform_data\" \"other\" {}\n",
			made: []journal.Entry{entry("one", "id-${x}-1"), entry("two", "id-2")},
			says: []string{"terraform_data.one was made, and is taken into the state (id)", "terraform_data.two was made, and is taken into the state (id)"}, has: "terraform_data.one terraform_data.two", once: true,
		},
		"one is to be replaced": {
			code: "resource \"terraform_data\" \"one\" { triggers_replace = 1 }\n", made: []journal.Entry{entry("one", "id-1")}, has: "terraform_data.one",
			says: []string{"terraform_data.one was made, and is taken into the state (id)"}, tells: "terraform_data.one: the next apply replaces it, because an import does not tell its triggers_replace",
		},
		"one by one": {
			code: "resource \"terraform_data\" \"one\" { input = 1 }\nresource \"terraform_data\" \"two\" {}\n",
			made: []journal.Entry{entry("one", "id-1"), entry("two", "id-2")},
			says: []string{"terraform_data.one was made, and is taken into the state (id)", "terraform_data.two was made, and is taken into the state (id)"}, has: "terraform_data.one terraform_data.two",
		},
		"one is not in the code": {
			code: "resource \"terraform_data\" \"one\" {}\n", made: []journal.Entry{entry("one", "id-1"), entry("two", "id-2")},
			left: "terraform_data.two", says: []string{"terraform_data.one was made, and is taken into the state (id)"}, has: "terraform_data.one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := NewShop(t, c.code)
			left, err := importAll(t.Context(), d.Layer, c.made)
			Do(t, err)
			if got := strings.Join(addresses(left), " "); got != c.left {
				t.Errorf("left is %q", got)
			}
			for _, want := range append(c.says, c.tells) {
				d.Says(want)
			}
			if n := strings.Count(d.Text(), "is taken into the state"); n != len(c.says) {
				t.Errorf("it says %s", d.Text())
			}
			if got := d.InState(); got != c.has {
				t.Errorf("the state has %q", got)
			}
			if _, err := os.Stat(filepath.Join(d.Dir, "slipway_recover.tf")); err == nil {
				t.Error("the import blocks are left")
			}
			if data, err := os.ReadFile(filepath.Join(d.Dir, "terraform.tfstate")); c.once && (err != nil || !strings.Contains(string(data), `"serial": 1,`)) {
				t.Errorf("the state is %s, %v", data, err)
			}
			if len(d.Diagnostics) > 0 || d.Printed.String() != "" {
				t.Errorf("it keeps %v, %s", d.Diagnostics, d.Printed.String())
			}
			recorded, err := d.Recorded(t.Context())
			Do(t, err)
			for _, e := range c.made {
				// Nothing is changed, also where the code says that something is to be.
				if one := recorded[e.Address]; one != nil && (Attribute(one, "id") != e.ID || one.AttributeValues["input"] != nil || one.AttributeValues["triggers_replace"] != nil) {
					t.Errorf("%s is %v", e.Address, one.AttributeValues)
				}
			}
		})
	}
}

// Where its own id does not say enough, a resource is imported by a longer one, of values
// that the code says, or that another import tells.
func TestBlackBoxTakeInComposed(t *testing.T) {
	importIDs["terraform_data"] = "{input}/{id}"
	defer delete(importIDs, "terraform_data")
	d := NewShop(t, `
resource "terraform_data" "one" { input = "eins" }
resource "terraform_data" "two" { input = terraform_data.one.id }
resource "terraform_data" "three" {}
`)
	d.Row.Changes["create"], d.Row.Outputs = 7, 7
	left, err := importAll(t.Context(), d.Layer, []journal.Entry{
		{Address: "terraform_data.two", Action: "create", IDKey: "id", ID: "2"}, {Address: "terraform_data.one", Action: "create", IDKey: "id", ID: "1"},
		{Address: "terraform_data.three", Action: "create", IDKey: "id", ID: "3"}, {Address: "terraform_data.none", Action: "create", IDKey: "id", ID: "4"},
	})
	Do(t, err)
	if got := strings.Join(addresses(left), " "); got != "terraform_data.none terraform_data.three" {
		t.Errorf("left is %q", got)
	}
	recorded, err := d.Recorded(t.Context())
	Do(t, err)
	if one, two := recorded["terraform_data.one"], recorded["terraform_data.two"]; one == nil || two == nil || Attribute(one, "id") != "eins/1" || Attribute(two, "id") != "eins/1/2" {
		t.Errorf("one: %+v, two: %+v", one, two)
	}
	if len(d.Row.Changes) != 0 || d.Row.Outputs != 0 || d.Creates != nil {
		t.Errorf("the row of the result is %+v", d.Row)
	}
}

// What the journal says was done, and the state does not, is put right; what cannot be is
// named.
func TestBlackBoxReconcile(t *testing.T) {
	t.Parallel()
	made := func(name, id string) journal.Entry {
		return journal.Entry{Kind: journal.Complete, Address: "terraform_data." + name, Action: "create", IDKey: "id", ID: id}
	}
	d := NewShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"gone\" {}\nresource \"terraform_data\" \"new\" {}\nresource \"terraform_data\" \"replaced\" {}\nresource \"terraform_data\" \"plain\" {}\n")
	d.Apply()
	Do(t, forget(t.Context(), d.Layer, "terraform_data.new", "terraform_data.plain"))
	before, err := d.Recorded(t.Context())
	Do(t, err)
	open, err := reconcile(t.Context(), d.Layer, journal.Outcome{
		Deleted: []journal.Entry{{Address: "terraform_data.gone"}, {Address: "terraform_data.never"}},
		Created: []journal.Entry{
			made("one", Attribute(before["terraform_data.one"], "id")), made("new", "id-new"), made("replaced", "id-of-another"),
			{Address: "terraform_data.plain"}, made("lost", "id-lost"),
		},
	})
	Do(t, err)
	if got := strings.Join(open, " "); got != "terraform_data.plain terraform_data.lost" {
		t.Errorf("open are %q", got)
	}
	for _, want := range []string{
		"terraform_data.gone was deleted, and is taken out of the state\n", "terraform_data.plain was made, and its provider tells no ID to import it by\n",
		"terraform_data.new was made, and is taken into the state (id)\n", "terraform_data.replaced was made, and is taken into the state (id)\n",
		"terraform_data.lost was made, and could not be taken into the state: its id is id-lost\n",
	} {
		d.Says(want)
	}
	if text := d.Text(); strings.Contains(text, "never") || strings.Contains(text, "the state holds all") || strings.Contains(text, ".one ") {
		t.Errorf("it says %s", text)
	}
	after, err := d.Recorded(t.Context())
	Do(t, err)
	if after["terraform_data.gone"] != nil || Attribute(after["terraform_data.new"], "id") != "id-new" || Attribute(after["terraform_data.replaced"], "id") != "id-of-another" {
		t.Errorf("the state has %+v", after)
	}

	d = NewShop(t, "resource \"terraform_data\" \"one\" {}\n")
	d.Apply()
	recorded, err := d.Recorded(t.Context())
	Do(t, err)
	open, err = reconcile(t.Context(), d.Layer, journal.Outcome{Created: []journal.Entry{made("one", Attribute(recorded["terraform_data.one"], "id")), {Address: "terraform_data.one"}}})
	if err != nil || len(open) > 0 || d.Text() != "test: the state holds all that was made\n" {
		t.Errorf("open are %q, %v, it says %s", open, err, d.Text())
	}
}

// Of what was in flight, what the state has was made; the rest is a question.
func TestBlackBoxSearch(t *testing.T) {
	t.Parallel()
	d := NewShop(t, "resource \"terraform_data\" \"one\" {}\n")
	d.Apply()
	found, unknown, err := searchAll(t.Context(), d.Layer, journal.Outcome{InFlight: []journal.Entry{
		{Address: "terraform_data.one", Action: "create"}, {Address: "terraform_data.two", Action: "create"},
	}})
	if err != nil || len(found) > 0 || strings.Join(unknown, " ") != "terraform_data.two" {
		t.Errorf("found %v, unknown %q, %v", found, unknown, err)
	}
	d.Says("terraform_data.one was in flight (create), and is in the state\n")
}

// What is marked is made anew by the next apply.
func TestBlackBoxTaint(t *testing.T) {
	t.Parallel()
	d := NewShop(t, "resource \"terraform_data\" \"one\" {}\n")
	d.Apply()
	Do(t, taint(t.Context(), d.Layer, map[string]string{"terraform_data.one": "it may not be whole"}))
	d.Says("terraform_data.one will be made anew: it may not be whole\n")
	summary, err := d.Plan(t.Context(), tofu.Plan{})
	if err != nil || strings.Join(summary.Losses(), " ") != "terraform_data.one" {
		t.Errorf("the plan is %+v, %v", summary, err)
	}
	Fail(t, taint(t.Context(), d.Layer, map[string]string{"terraform_data.none": "x"}), "tofu taint of test failed")
}

// What the state marks as sensitive becomes known to the mask; what tofu says where that
// fails is not kept.
func TestBlackBoxLearn(t *testing.T) {
	t.Parallel()
	d := NewShop(t, ShopCode)
	d.Apply()
	d.Mask = NewMask()
	Do(t, d.Learn(t.Context()))
	if text := d.Mask.String("it is a-password-of-the-shop"); strings.Contains(text, "of-the-shop") {
		t.Error(text)
	}
	d.Printed.Reset()
	d.File("terraform.tfstate", "{")
	Fail(t, d.Learn(t.Context()), "tofu show ended with code 1")
	if text := d.Printed.String(); text != "" {
		t.Errorf("it keeps %s", text)
	}
}

// What an address stands for is taken out of the state; an address that is not there is an error.
func TestBlackBoxForget(t *testing.T) {
	t.Parallel()
	d := NewShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	d.Apply()
	Do(t, forget(t.Context(), d.Layer))
	Do(t, forget(t.Context(), d.Layer, "terraform_data.two"))
	if got := d.InState(); got != "terraform_data.one" {
		t.Errorf("the state has %q", got)
	}
	Fail(t, forget(t.Context(), d.Layer, "terraform_data.none"), "tofu state rm of test failed")
}

// The list has every address, and says so where there is none.
func TestBlackBoxListState(t *testing.T) {
	t.Parallel()
	d := NewShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	Do(t, listState(t.Context(), d.Layer))
	d.Says("test: nothing\n")
	d.Apply()
	Do(t, listState(t.Context(), d.Layer))
	d.Says("test: terraform_data.one\ntest: terraform_data.two\n")
	d.File("terraform.tfstate", "{")
	Fail(t, listState(t.Context(), d.Layer), "tofu state list of test failed")
}
