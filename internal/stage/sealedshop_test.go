//go:build blackbox

package stage

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// NewSealedShop is a shop whose state is sealed in the store, as in an environment.
func NewSealedShop(t *testing.T, code string) *Desk {
	t.Helper()
	d := NewShop(t, "")
	d.Environment.State.S3 = &environment.S3{Bucket: "state", Region: "us-east-1", Endpoint: d.URL}
	d.Credentials = map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", state.Passphrase: Passphrase}
	env, err := d.Variables()
	Do(t, err)
	d.Tool = tofu.Runner{Dir: d.Dir, Env: env, Stderr: &d.Printed}
	d.File("main.tf", "terraform {\n  backend \"s3\" {}\n}\n"+code)
	return d
}

// A change is planned and applied, and one that changes nothing is not. It begins on no
// state that another uses, and loses no more than was allowed.
func TestBlackBoxChange(t *testing.T) {
	t.Parallel()
	d := NewSealedShop(t, ShopCode)
	outputs, err := change(t.Context(), d.Layer, tofu.Plan{}, options{})
	Do(t, err)
	if !d.Row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v", d.Row.Applied, outputs)
	}
	d.Says("2 to create")
	stamp, err := d.Store.Stamp(t.Context(), d.Key)
	Do(t, err)
	d.Row.Applied = false
	outputs, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	Do(t, err)
	if d.Row.Applied || string(outputs["name"].Value) != `"one"` || d.Stamp != stamp {
		t.Errorf("applied: %v, outputs %v, stamp %v of %v", d.Row.Applied, outputs, d.Stamp, stamp)
	}
	d.Says("No changes")

	d.Environment.Protected = true
	_, err = change(t.Context(), d.Layer, tofu.Plan{Destroy: true}, options{})
	Fail(t, err, "would now also delete, replace or forget terraform_data.one")
	Refuse(t, guardDestroy(t.Context(), d.Layer.Run, []*Layer{d.Layer}, options{}), "the plan deletes, replaces or forgets 2, and --allow-destroy does not name terraform_data.one", "--allow-destroy=terraform_data.one,terraform_data.two")
	Do(t, guardDestroy(t.Context(), d.Layer.Run, []*Layer{d.Layer}, options{allowDestroy: "terraform_data.one,terraform_data.two"}))
	d.Environment.Protected = false
	d.File("main.tf", "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" {\n  input = local.none\n}\n")
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	Fail(t, err, "tofu plan of test failed")
	d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	Refuse(t, err, "was interrupted", "dagger call recover --env=test")
	if now, err := d.Store.Stamp(t.Context(), d.Key); err != nil || now != stamp {
		t.Errorf("the state is now %v, %v", now, err)
	}
}

// init looks at the state before tofu does, and shows why it failed.
func TestBlackBoxInit(t *testing.T) {
	t.Parallel()
	d := NewSealedShop(t, "")
	Do(t, d.Init(t.Context()))
	if d.Printed.String() != "" {
		t.Errorf("it keeps %s", d.Printed.String())
	}
	d.File("main.tf", "terraform {")
	Fail(t, d.Init(t.Context()), "tofu init of test failed")
	if !strings.Contains(d.Complaints.String(), "Unclosed configuration block") {
		t.Errorf("complaints: %s", d.Complaints.String())
	}
	Do(t, d.Store.Write(t.Context(), d.Key, []byte(`{"version":4,"serial":9,"lineage":"x"}`)))
	Fail(t, d.Init(t.Context()), "is not encrypted")
}

// What was interrupted is recovered under a lock of recover's own, and forgotten only when
// all is accounted for.
func TestBlackBoxRecoverRoot(t *testing.T) {
	t.Parallel()
	d := NewSealedShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	d.Result.Stage = "recover"
	Do(t, recoverLayer(t.Context(), d.Layer, recoverOptions{}))
	d.Says("test: nothing was interrupted\n")

	dead := d.Other(journal.Header{ID: "dead", Stage: "apply", Lock: "of-dead"})
	dead.Locked()
	for _, one := range []struct{ name, id string }{{"one", "id-1"}, {"lost", "id-2"}} {
		address := "terraform_data." + one.name
		dead.Add(journal.Entry{Kind: journal.Start, Time: time.Now(), Address: address, Action: "create"})
		dead.Add(journal.Entry{Kind: journal.Complete, Time: time.Now(), Address: address, Action: "create", IDKey: "id", ID: one.id})
	}
	Do(t, dead.Abandon(t.Context()))
	d.LockAs("of-dead")
	err := recoverLayer(t.Context(), d.Layer, recoverOptions{})
	Fail(t, err, "1 of what was made or begun is not accounted for: terraform_data.lost.", "--seen='terraform_data.lost'")
	d.Says("test: run dead (apply, begun ")
	d.Says("test: locked by root@host since ")
	d.Says("test: terraform_data.one was made, and is taken into the state (id)\n")
	if got := d.InState(); got != "terraform_data.one" {
		t.Errorf("the state has %q", got)
	}
	if keys := strings.Join(d.Journals(), " "); !strings.Contains(keys, "dead/") || strings.Contains(keys, "me/") || d.LockID() != "" {
		t.Errorf("there is %s, lock %q", keys, d.LockID())
	}
	Do(t, recoverLayer(t.Context(), d.Layer, recoverOptions{seen: "terraform_data.lost"}))
	if keys := d.Journals(); len(keys) > 0 || d.LockID() != "" {
		t.Errorf("there is %q, lock %q", keys, d.LockID())
	}

	// A lock that no journal names is nobody's to take.
	d.LockAs("laptop")
	Refuse(t, recoverLayer(t.Context(), d.Layer, recoverOptions{}), "no journal names the lock of test", "--lock-id=laptop")
	if d.LockID() != "laptop" {
		t.Error("the lock is gone")
	}
	if keys := d.Journals(); len(keys) > 0 {
		t.Errorf("there is %q", keys)
	}
	Do(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))

	// One who is at work is not disturbed.
	d.Other(journal.Header{ID: "busy", Stage: "apply"})
	Refuse(t, recoverLayer(t.Context(), d.Layer, recoverOptions{}), "run busy (apply, begun ", "wait until it ends")
}

// A sealed plan is applied as it is, once, and only if what it needs and loses is what was
// Sealed.
func TestBlackBoxApplySealed(t *testing.T) {
	t.Parallel()
	d := NewSealedShop(t, ShopCode)
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	programs := func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }
	source := Source{Programs: programs}
	// sealed plans and seals as a run of its own, and reads what it left.
	sealed := func(run string, config tofu.Plan) Sealed {
		t.Helper()
		d.ID, d.Out = run, t.TempDir()
		Do(t, d.Init(t.Context()))
		summary, err := d.Plan(t.Context(), config)
		Do(t, err)
		sealer := Sealer{Lifetime: time.Hour, Programs: programs}
		Do(t, sealer.Seal(t.Context(), d.Layer, summary, ""))
		source.Folder = d.Out
		plans, _, err := source.Find(t.Context(), d.Layer.Run, []*Layer{d.Layer})
		Do(t, err)
		d.ID = run + "-apply"
		return plans[0]
	}
	first := sealed("first", tofu.Plan{})
	other := first
	other.Losses = []string{"terraform_data.one"}
	_, err := applySealed(t.Context(), d.Layer, other, source)
	Refuse(t, err, "the plan of test loses other resources than its manifest says", "")
	other = first
	other.Bindings.LockFile = "sha256:other"
	_, err = applySealed(t.Context(), d.Layer, other, source)
	Refuse(t, err, "the lock file of the providers has changed", "")

	// Who finds the lock taken can apply the plan later.
	d.LockAs("laptop")
	_, err = applySealed(t.Context(), d.Layer, first, source)
	Refuse(t, err, "the state of test is locked by", "")
	Do(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))
	claimed := func() bool {
		t.Helper()
		_, err := d.Store.Read(t.Context(), "plans/"+d.Key+"/first.applied")
		return err == nil
	}
	if claimed() {
		t.Error("it is claimed, and was not begun")
	}
	outputs, err := applySealed(t.Context(), d.Layer, first, source)
	Do(t, err)
	if !d.Row.Applied || string(outputs["name"].Value) != `"one"` || !claimed() {
		t.Errorf("applied: %v, outputs %v, claimed: %v", d.Row.Applied, outputs, claimed())
	}
	d.Says("test: the plan of run first, made 20")
	d.Says("2 to create")
	d.Row.Applied, d.ID = false, "another"
	_, err = applySealed(t.Context(), d.Layer, first, source)
	Refuse(t, err, `the plan of test is being applied by run "first-apply"`, "")

	empty := sealed("second", tofu.Plan{})
	outputs, err = applySealed(t.Context(), d.Layer, empty, source)
	if err != nil || d.Row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v, %v", d.Row.Applied, outputs, err)
	}
	d.Says("test: No changes.\n")
	d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = applySealed(t.Context(), d.Layer, empty, source)
	Refuse(t, err, "was interrupted", "")
}

// An import whose state cannot be written has taken nothing in.
func TestBlackBoxTakeInFails(t *testing.T) {
	t.Parallel()
	d := NewSealedShop(t, "resource \"terraform_data\" \"one\" {}\n")
	Do(t, d.Init(t.Context()))
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if refused := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, d.Key); refused {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	_, err := importAll(t.Context(), d.Layer, []journal.Entry{{Address: "terraform_data.one", Action: "create", IDKey: "id", ID: "1"}})
	Fail(t, err, "tofu apply of test failed")
	if strings.Contains(d.Text(), "taken into the state") {
		t.Errorf("it says %s", d.Text())
	}
}

// Each chosen layer is looked at in its order, and the first that fails ends it.
func TestBlackBoxEach(t *testing.T) {
	t.Parallel()
	d := New(t)
	d.Work = ForTools(t)
	d.WithCode(TwoLayers)
	var names []string
	Do(t, Each(t.Context(), d.Opened(), func(l *Layer) error { names = append(names, l.Name); return nil }))
	if got := strings.Join(names, " "); got != "net app" {
		t.Errorf("it looks at %s", got)
	}
	d.Work, names = ForTools(t), nil
	err := Each(t.Context(), d.Layer.Run, func(l *Layer) error { names = append(names, l.Name); return errors.New("of " + l.Name) })
	Fail(t, err, "of net")
	d.Work = ForTools(t)
	if got := strings.Join(names, " "); got != "net" {
		t.Errorf("it goes on: %s", got)
	}
}
