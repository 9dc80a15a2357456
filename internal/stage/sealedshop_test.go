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

// newSealedShop is a shop whose state is sealed in the store, as in an environment.
func newSealedShop(t *testing.T, code string) *desk {
	t.Helper()
	d := newShop(t, "")
	d.Environment.State.S3 = &environment.S3{Bucket: "state", Region: "us-east-1", Endpoint: d.url}
	d.Credentials = map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", state.Passphrase: deskPassphrase}
	env, err := d.variables()
	must(t, err)
	d.Tool = tofu.Runner{Dir: d.Dir, Env: env, Stderr: &d.Printed}
	d.file("main.tf", "terraform {\n  backend \"s3\" {}\n}\n"+code)
	return d
}

// A change is planned and applied, and one that changes nothing is not. It begins on no
// state that another uses, and loses no more than was allowed.
func TestBlackBoxChange(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, shopCode)
	outputs, err := change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must(t, err)
	if !d.Row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v", d.Row.Applied, outputs)
	}
	d.says("2 to create")
	stamp, err := d.Store.Stamp(t.Context(), d.Key)
	must(t, err)
	d.Row.Applied = false
	outputs, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must(t, err)
	if d.Row.Applied || string(outputs["name"].Value) != `"one"` || d.Stamp != stamp {
		t.Errorf("applied: %v, outputs %v, stamp %v of %v", d.Row.Applied, outputs, d.Stamp, stamp)
	}
	d.says("No changes")

	d.Environment.Protected = true
	_, err = change(t.Context(), d.Layer, tofu.Plan{Destroy: true}, options{})
	fails(t, err, "would now also delete, replace or forget terraform_data.one")
	refuses(t, guardDestroy(t.Context(), d.Layer.Run, []*Layer{d.Layer}, options{}), "the plan deletes, replaces or forgets 2, and --allow-destroy does not name terraform_data.one", "--allow-destroy=terraform_data.one,terraform_data.two")
	must(t, guardDestroy(t.Context(), d.Layer.Run, []*Layer{d.Layer}, options{allowDestroy: "terraform_data.one,terraform_data.two"}))
	d.Environment.Protected = false
	d.file("main.tf", "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" {\n  input = local.none\n}\n")
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	fails(t, err, "tofu plan of test failed")
	d.interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	refuses(t, err, "was interrupted", "dagger call recover --env=test")
	if now, err := d.Store.Stamp(t.Context(), d.Key); err != nil || now != stamp {
		t.Errorf("the state is now %v, %v", now, err)
	}
}

// init looks at the state before tofu does, and shows why it failed.
func TestBlackBoxInit(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, "")
	must(t, d.Init(t.Context()))
	if d.Printed.String() != "" {
		t.Errorf("it keeps %s", d.Printed.String())
	}
	d.file("main.tf", "terraform {")
	fails(t, d.Init(t.Context()), "tofu init of test failed")
	if !strings.Contains(d.Complaints.String(), "Unclosed configuration block") {
		t.Errorf("complaints: %s", d.Complaints.String())
	}
	must(t, d.Store.Write(t.Context(), d.Key, []byte(`{"version":4,"serial":9,"lineage":"x"}`)))
	fails(t, d.Init(t.Context()), "is not encrypted")
}

// What was interrupted is recovered under a lock of recover's own, and forgotten only when
// all is accounted for.
func TestBlackBoxRecoverRoot(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	d.Result.Stage = "recover"
	must(t, recoverLayer(t.Context(), d.Layer, recoverOptions{}))
	d.says("test: nothing was interrupted\n")

	dead := d.other(journal.Header{ID: "dead", Stage: "apply", Lock: "of-dead"})
	dead.Locked()
	for _, one := range []struct{ name, id string }{{"one", "id-1"}, {"lost", "id-2"}} {
		address := "terraform_data." + one.name
		dead.Add(journal.Entry{Kind: journal.Start, Time: time.Now(), Address: address, Action: "create"})
		dead.Add(journal.Entry{Kind: journal.Complete, Time: time.Now(), Address: address, Action: "create", IDKey: "id", ID: one.id})
	}
	must(t, dead.Abandon(t.Context()))
	d.locked("of-dead")
	err := recoverLayer(t.Context(), d.Layer, recoverOptions{})
	fails(t, err, "1 of what was made or begun is not accounted for: terraform_data.lost.", "--seen='terraform_data.lost'")
	d.says("test: run dead (apply, begun ")
	d.says("test: locked by root@host since ")
	d.says("test: terraform_data.one was made, and is taken into the state (id)\n")
	if got := d.inState(); got != "terraform_data.one" {
		t.Errorf("the state has %q", got)
	}
	if keys := strings.Join(d.journals(), " "); !strings.Contains(keys, "dead/") || strings.Contains(keys, "me/") || d.lockID() != "" {
		t.Errorf("there is %s, lock %q", keys, d.lockID())
	}
	must(t, recoverLayer(t.Context(), d.Layer, recoverOptions{seen: "terraform_data.lost"}))
	if keys := d.journals(); len(keys) > 0 || d.lockID() != "" {
		t.Errorf("there is %q, lock %q", keys, d.lockID())
	}

	// A lock that no journal names is nobody's to take.
	d.locked("laptop")
	refuses(t, recoverLayer(t.Context(), d.Layer, recoverOptions{}), "no journal names the lock of test", "--lock-id=laptop")
	if d.lockID() != "laptop" {
		t.Error("the lock is gone")
	}
	if keys := d.journals(); len(keys) > 0 {
		t.Errorf("there is %q", keys)
	}
	must(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))

	// One who is at work is not disturbed.
	d.other(journal.Header{ID: "busy", Stage: "apply"})
	refuses(t, recoverLayer(t.Context(), d.Layer, recoverOptions{}), "run busy (apply, begun ", "wait until it ends")
}

// A sealed plan is applied as it is, once, and only if what it needs and loses is what was
// Sealed.
func TestBlackBoxApplySealed(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, shopCode)
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	programs := func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }
	source := Source{Programs: programs}
	// sealed plans and seals as a run of its own, and reads what it left.
	sealed := func(run string, config tofu.Plan) Sealed {
		t.Helper()
		d.ID, d.Out = run, t.TempDir()
		must(t, d.Init(t.Context()))
		summary, err := d.Plan(t.Context(), config)
		must(t, err)
		sealer := Sealer{Lifetime: time.Hour, Programs: programs}
		must(t, sealer.Seal(t.Context(), d.Layer, summary, ""))
		source.Folder = d.Out
		p, err := source.verify(t.Context(), d.Layer)
		must(t, err)
		d.ID = run + "-apply"
		return p
	}
	first := sealed("first", tofu.Plan{})
	other := first
	other.Losses = []string{"terraform_data.one"}
	_, err := applySealed(t.Context(), d.Layer, other, source)
	refuses(t, err, "the plan of test loses other resources than its manifest says", "")
	other = first
	other.Bindings.LockFile = "sha256:other"
	_, err = applySealed(t.Context(), d.Layer, other, source)
	refuses(t, err, "the lock file of the providers has changed", "")
	other = first
	other.sealed = []byte("no envelope")
	_, err = applySealed(t.Context(), d.Layer, other, source)
	refuses(t, err, "the plan of test cannot be opened", "")

	// Who finds the lock taken can apply the plan later.
	d.locked("laptop")
	_, err = applySealed(t.Context(), d.Layer, first, source)
	refuses(t, err, "the state of test is locked by", "")
	must(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))
	claimed := func() bool {
		t.Helper()
		_, err := d.Store.Read(t.Context(), claimKey(d.Layer, first.Manifest))
		return err == nil
	}
	if claimed() {
		t.Error("it is claimed, and was not begun")
	}
	outputs, err := applySealed(t.Context(), d.Layer, first, source)
	must(t, err)
	if !d.Row.Applied || string(outputs["name"].Value) != `"one"` || !claimed() {
		t.Errorf("applied: %v, outputs %v, claimed: %v", d.Row.Applied, outputs, claimed())
	}
	d.says("test: the plan of run first, made 20")
	d.says("2 to create")
	d.Row.Applied, d.ID = false, "another"
	_, err = applySealed(t.Context(), d.Layer, first, source)
	refuses(t, err, `the plan of test is being applied by run "first-apply"`, "")

	empty := sealed("second", tofu.Plan{})
	outputs, err = applySealed(t.Context(), d.Layer, empty, source)
	if err != nil || d.Row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v, %v", d.Row.Applied, outputs, err)
	}
	d.says("test: No changes.\n")
	d.interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = applySealed(t.Context(), d.Layer, empty, source)
	refuses(t, err, "was interrupted", "")
}

// An import whose state cannot be written has taken nothing in.
func TestBlackBoxTakeInFails(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, "resource \"terraform_data\" \"one\" {}\n")
	must(t, d.Init(t.Context()))
	d.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if refused := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, d.Key); refused {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	_, err := importAll(t.Context(), d.Layer, []journal.Entry{{Address: "terraform_data.one", Action: "create", IDKey: "id", ID: "1"}})
	fails(t, err, "tofu apply of test failed")
	if strings.Contains(d.text(), "taken into the state") {
		t.Errorf("it says %s", d.text())
	}
}

// Each chosen layer is looked at in its order, and the first that fails ends it.
func TestBlackBoxEach(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Work = forTools(t)
	d.withCode(twoLayers)
	var names []string
	must(t, Each(t.Context(), d.opened(), func(l *Layer) error { names = append(names, l.Name); return nil }))
	if got := strings.Join(names, " "); got != "net app" {
		t.Errorf("it looks at %s", got)
	}
	d.Work, names = forTools(t), nil
	err := Each(t.Context(), d.Layer.Run, func(l *Layer) error { names = append(names, l.Name); return errors.New("of " + l.Name) })
	fails(t, err, "of net")
	d.Work = forTools(t)
	if got := strings.Join(names, " "); got != "net" {
		t.Errorf("it goes on: %s", got)
	}
}
