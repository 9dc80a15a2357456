//go:build blackbox

package apply

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/manifest"
	"slipway/internal/must"
	"slipway/internal/sealedplan"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// A change is planned and applied, and one that changes nothing is not. It begins on no
// state that another uses, and loses no more than was allowed.
func TestBlackBoxChange(t *testing.T) {
	t.Parallel()
	d := testkit.NewSealedShop(t, testkit.ShopCode)
	outputs, err := change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must.Do(t, err)
	if !d.Row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v", d.Row.Applied, outputs)
	}
	d.Says("2 to create")
	stamp, err := d.Store.Stamp(t.Context(), d.Key)
	must.Do(t, err)
	d.Row.Applied = false
	outputs, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must.Do(t, err)
	if d.Row.Applied || string(outputs["name"].Value) != `"one"` || d.Stamp != stamp {
		t.Errorf("applied: %v, outputs %v, stamp %v of %v", d.Row.Applied, outputs, d.Stamp, stamp)
	}
	d.Says("No changes")

	d.Environment.Protected = true
	_, err = change(t.Context(), d.Layer, tofu.Plan{Destroy: true}, options{})
	must.Fail(t, err, "would now also delete, replace or forget terraform_data.one")
	must.Refuse(t, guardDestroy(t.Context(), d.Run, []*layer.Layer{d.Layer}, options{}), "the plan deletes, replaces or forgets 2, and --allow-destroy does not name terraform_data.one", "--allow-destroy=terraform_data.one,terraform_data.two")
	must.Do(t, guardDestroy(t.Context(), d.Run, []*layer.Layer{d.Layer}, options{allowDestroy: "terraform_data.one,terraform_data.two"}))
	d.Environment.Protected = false
	d.File("main.tf", "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" {\n  input = local.none\n}\n")
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must.Fail(t, err, "tofu plan of test failed")
	d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must.Refuse(t, err, "was interrupted", "dagger call recover --env=test")
	if now, err := d.Store.Stamp(t.Context(), d.Key); err != nil || now != stamp {
		t.Errorf("the state is now %v, %v", now, err)
	}
}

// A sealed plan is applied as it is, once, and only if what it needs and loses is what was
// Sealed.
func TestBlackBoxApplySealed(t *testing.T) {
	t.Parallel()
	d := testkit.NewSealedShop(t, testkit.ShopCode)
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	programs := func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }
	source := sealedplan.Source{Programs: programs}
	// sealed plans and seals as a run of its own, and reads what it left.
	sealed := func(run string, config tofu.Plan) sealedplan.Plan {
		t.Helper()
		d.ID, d.Out = run, t.TempDir()
		must.Do(t, d.Init(t.Context()))
		summary, err := d.Plan(t.Context(), config)
		must.Do(t, err)
		sealer := sealedplan.Sealer{Lifetime: time.Hour, Programs: programs}
		must.Do(t, sealer.Seal(t.Context(), d.Layer, summary, ""))
		source.Folder = d.Out
		found, err := source.Find(t.Context(), d.Run, []*layer.Layer{d.Layer}, nil)
		must.Do(t, err)
		d.ID = run + "-apply"
		return found.Layers[0]
	}
	first := sealed("first", tofu.Plan{})
	other := first
	other.Losses = []string{"terraform_data.one"}
	_, err := applySealed(t.Context(), d.Layer, other, source)
	must.Refuse(t, err, "the plan of test deletes, replaces or forgets other resources than its manifest says", "")
	other = first
	other.Bindings.LockFile = "sha256:other"
	_, err = applySealed(t.Context(), d.Layer, other, source)
	must.Refuse(t, err, "the provider lock file has changed", "")

	// Who finds the lock taken can apply the plan later.
	d.LockAs("laptop")
	_, err = applySealed(t.Context(), d.Layer, first, source)
	must.Refuse(t, err, "the state of test is locked by", "")
	must.Do(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))
	claimed := func() bool {
		t.Helper()
		_, err := d.Store.Read(t.Context(), "plans/"+d.Key+"/first.applied")
		return err == nil
	}
	if claimed() {
		t.Error("it is claimed, and was not begun")
	}
	outputs, err := applySealed(t.Context(), d.Layer, first, source)
	must.Do(t, err)
	if !d.Row.Applied || string(outputs["name"].Value) != `"one"` || !claimed() {
		t.Errorf("applied: %v, outputs %v, claimed: %v", d.Row.Applied, outputs, claimed())
	}
	d.Says("test: the plan of run first, made 20")
	d.Says("2 to create")
	d.Row.Applied, d.ID = false, "another"
	_, err = applySealed(t.Context(), d.Layer, first, source)
	must.Refuse(t, err, `the plan of test is being applied by run "first-apply"`, "")

	empty := sealed("second", tofu.Plan{})
	outputs, err = applySealed(t.Context(), d.Layer, empty, source)
	if err != nil || d.Row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v, %v", d.Row.Applied, outputs, err)
	}
	d.Says("test: No changes.\n")
	d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = applySealed(t.Context(), d.Layer, empty, source)
	must.Refuse(t, err, "was interrupted", "")
}

// A plan is applied under the lock and a journal, and both are gone behind it.
func TestBlackBoxApplyPlan(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, testkit.ShopCode+"check \"one\" {\n  assert {\n    condition     = var.password == \"another\"\n    error_message = \"never shown\"\n  }\n}\n")
	summary, err := d.Plan(t.Context(), tofu.Plan{})
	must.Do(t, err)
	const warning = "warning: Check block assertion failed"
	if text := d.Progress(); !strings.HasPrefix(text, "test: planning\n") || !strings.Contains(text, warning) {
		t.Errorf("the plan says %s", text)
	}
	d.Stderr = &bytes.Buffer{}
	if d.Row.Changes["create"] != 2 || len(d.Row.Changes) != 1 || d.Row.Outputs != 2 || len(summary.Changes) != 2 || len(d.Creates) != 2 {
		t.Errorf("the plan is %+v, %+v, %q", d.Row, summary, d.Creates)
	}
	outputs, err := applyPlan(t.Context(), d.Layer)
	must.Do(t, err)
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
		applied   bool // although it is unknown what of it is in the state
	}{
		"in order":       {code: provisioner("exit 1"), says: []string{"tofu apply of test failed"}},
		"tofu is killed": {code: provisioner("kill -9 $PPID"), says: []string{"tofu was killed", "the state may not record everything that the apply did"}, stays: true, unwritten: true},
		"a state is left": {
			code: provisioner("echo '{}' > errored.tfstate"),
			says: []string{"the state could not be written: an encrypted copy is in recovery/test.tfstate.age"}, stays: true, unwritten: true,
		},
		"a state is left that cannot be read": {code: provisioner("mkfifo errored.tfstate"), says: []string{"errored.tfstate is not a regular file"}, stays: true, unwritten: true, applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := testkit.NewShop(t, c.code)
			_, err := d.Plan(t.Context(), tofu.Plan{})
			must.Do(t, err)
			_, err = applyPlan(t.Context(), d.Layer)
			must.Fail(t, err, c.says...)
			if c.unwritten && !c.applied {
				must.Hint(t, err, "dagger call recover --env=test")
			}
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
	d := testkit.NewShop(t, testkit.ShopCode)
	_, err := d.Plan(t.Context(), tofu.Plan{})
	must.Do(t, err)
	d.LockAs("laptop")
	_, err = applyPlan(t.Context(), d.Layer)
	must.Refuse(t, err, "the state of test is locked by root@host", "dagger call unlock --env=test")
	if got := d.InState(); got != "" {
		t.Errorf("the state has %s", got)
	}
}

// A plan that the state has moved away from is refused by tofu. Nothing is left behind, and the hint
// is the next command.
func TestBlackBoxApplyStale(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, testkit.ShopCode)
	_, err := d.Plan(t.Context(), tofu.Plan{})
	must.Do(t, err)
	saved, err := os.ReadFile(d.PlanFile())
	must.Do(t, err)
	d.Apply()
	must.Do(t, workspace.Folder(d.Run).Write(workspace.Inside(d.Run, d.PlanFile()), saved))
	_, err = applyPlan(t.Context(), d.Layer)
	if !errors.Is(err, errStale) || d.Row.Applied || d.Unwritten {
		t.Errorf("got %v, applied: %v, unwritten: %v", err, d.Row.Applied, d.Unwritten)
	}
	if keys, lock := d.Journals(), d.LockID(); len(keys) > 0 || lock != "" {
		t.Errorf("it leaves %q and the lock %q", keys, lock)
	}
	_, err = applyOwn(t.Context(), d.Layer)
	must.Refuse(t, err, "test: the state has changed since its plan was made, and nothing was applied", "repeat it: dagger call apply --env=test")
	_, err = applyOnce(t.Context(), d.Layer, sealedplan.Plan{}, sealedplan.Source{Folder: "/plan"})
	must.Refuse(t, err, "test: the state has changed since its plan was made, and nothing was applied", "dagger call plan-files --env=test export")

	// What else went wrong is said, too.
	must.Do(t, os.Mkdir(filepath.Join(d.Dir, "errored.tfstate"), 0o755))
	_, err = applyOnce(t.Context(), d.Layer, sealedplan.Plan{Manifest: manifest.Manifest{RunID: "again"}}, sealedplan.Source{Folder: "/plan"})
	must.Fail(t, err, "test: the state has changed since its plan was made", "errored.tfstate is not a regular file")
}
