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
	"slipway/internal/plan"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// newSealedShop is a shop whose state is sealed in the store, as in an environment.
func newSealedShop(t *testing.T, code string) *desk {
	t.Helper()
	d := newShop(t, "")
	d.environment.State.S3 = &environment.S3{Bucket: "state", Region: "us-east-1", Endpoint: d.url}
	d.credentials = map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", state.Passphrase: deskPassphrase}
	env, err := d.variables()
	must(t, err)
	d.tool = tofu.Runner{Dir: d.dir, Env: env, Stderr: &d.noise}
	d.file("main.tf", "terraform {\n  backend \"s3\" {}\n}\n"+code)
	return d
}

// A change is planned and applied, and one that changes nothing is not. It begins on no
// state that another uses, and loses no more than was allowed.
func TestBlackBoxChange(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, shopCode)
	outputs, err := d.change(t.Context(), tofu.Plan{})
	must(t, err)
	if !d.row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v", d.row.Applied, outputs)
	}
	d.says("2 to create")
	stamp, err := d.store.Stamp(t.Context(), d.key)
	must(t, err)
	d.row.Applied = false
	outputs, err = d.change(t.Context(), tofu.Plan{})
	must(t, err)
	if d.row.Applied || string(outputs["name"].Value) != `"one"` || d.stamp != stamp {
		t.Errorf("applied: %v, outputs %v, stamp %v of %v", d.row.Applied, outputs, d.stamp, stamp)
	}
	d.says("No changes")

	d.environment.Protected = true
	_, err = d.change(t.Context(), tofu.Plan{Destroy: true})
	fails(t, err, "would now also delete, replace or forget terraform_data.one")
	refuses(t, d.guardDestroy(t.Context(), []*root{d.root}), "the plan deletes, replaces or forgets 2, and --allow-destroy does not name terraform_data.one", "--allow-destroy=terraform_data.one,terraform_data.two")
	d.AllowDestroy = "terraform_data.one,terraform_data.two"
	must(t, d.guardDestroy(t.Context(), []*root{d.root}))
	d.AllowDestroy = ""
	d.environment.Protected = false
	d.file("main.tf", "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" {\n  input = local.none\n}\n")
	_, err = d.change(t.Context(), tofu.Plan{})
	fails(t, err, "tofu plan of test failed")
	d.interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = d.change(t.Context(), tofu.Plan{})
	refuses(t, err, "was interrupted", "dagger call recover --env=test")
	if now, err := d.store.Stamp(t.Context(), d.key); err != nil || now != stamp {
		t.Errorf("the state is now %v, %v", now, err)
	}
}

// init looks at the state before tofu does, and shows why it failed.
func TestBlackBoxInit(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, "")
	must(t, d.init(t.Context()))
	if d.noise.String() != "" {
		t.Errorf("it keeps %s", d.noise.String())
	}
	d.file("main.tf", "terraform {")
	fails(t, d.init(t.Context()), "tofu init of test failed")
	if !strings.Contains(d.complaints.String(), "Unclosed configuration block") {
		t.Errorf("complaints: %s", d.complaints.String())
	}
	must(t, d.store.Write(t.Context(), d.key, []byte(`{"version":4,"serial":9,"lineage":"x"}`)))
	fails(t, d.init(t.Context()), "is not encrypted")
}

// What was interrupted is recovered under a lock of recover's own, and forgotten only when
// all is accounted for.
func TestBlackBoxRecoverRoot(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	d.result.Stage = "recover"
	must(t, d.recover(t.Context()))
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
	err := d.recover(t.Context())
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
	d.Seen = "terraform_data.lost"
	must(t, d.recover(t.Context()))
	if keys := d.journals(); len(keys) > 0 || d.lockID() != "" {
		t.Errorf("there is %q, lock %q", keys, d.lockID())
	}

	// A lock that no journal names is nobody's to take.
	d.locked("laptop")
	refuses(t, d.recover(t.Context()), "no journal names the lock of test", "--lock-id=laptop")
	if d.lockID() != "laptop" {
		t.Error("the lock is gone")
	}
	if keys := d.journals(); len(keys) > 0 {
		t.Errorf("there is %q", keys)
	}
	must(t, d.store.Unlock(t.Context(), d.key, "laptop"))

	// One who is at work is not disturbed.
	d.other(journal.Header{ID: "busy", Stage: "apply"})
	refuses(t, d.recover(t.Context()), "run busy (apply, begun ", "wait until it has ended")
}

// A sealed plan is applied as it is, once, and only if what it needs and loses is what was
// reviewed.
func TestBlackBoxApplySealed(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, shopCode)
	d.PlanLifetime = time.Hour
	d.inputs = "sha256:" + strings.Repeat("a", 64)
	d.tools = func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }
	// sealed plans and seals as a run of its own, and reads what it left.
	sealed := func(run string, config tofu.Plan) reviewed {
		t.Helper()
		d.RunID, d.Out = run, t.TempDir()
		must(t, d.init(t.Context()))
		summary, err := d.planned(t.Context(), config)
		must(t, err)
		must(t, d.seal(t.Context(), summary, ""))
		d.Plan = d.Out
		p, err := d.verify(t.Context())
		must(t, err)
		d.RunID = run + "-apply"
		return p
	}
	first := sealed("first", tofu.Plan{})
	other := first
	other.Losses = []string{"terraform_data.one"}
	_, err := d.applySealed(t.Context(), other)
	refuses(t, err, "the plan of test loses other resources than its manifest says", "")
	other = first
	other.Bindings.LockFile = "sha256:other"
	_, err = d.applySealed(t.Context(), other)
	refuses(t, err, "the lock file of the providers has changed", "")
	other = first
	other.sealed = []byte("no envelope")
	_, err = d.applySealed(t.Context(), other)
	refuses(t, err, "the plan of test cannot be opened", "")

	// Who finds the lock taken can apply the plan later.
	d.locked("laptop")
	_, err = d.applySealed(t.Context(), first)
	refuses(t, err, "the state of test is locked by", "")
	must(t, d.store.Unlock(t.Context(), d.key, "laptop"))
	claimed := func() bool {
		t.Helper()
		_, err := d.store.Read(t.Context(), d.claimKey(first.Manifest))
		return err == nil
	}
	if claimed() {
		t.Error("it is claimed, and was not begun")
	}
	outputs, err := d.applySealed(t.Context(), first)
	must(t, err)
	if !d.row.Applied || string(outputs["name"].Value) != `"one"` || !claimed() {
		t.Errorf("applied: %v, outputs %v, claimed: %v", d.row.Applied, outputs, claimed())
	}
	d.says("test: the plan of run first, made 20")
	d.says("2 to create")
	d.row.Applied, d.RunID = false, "another"
	_, err = d.applySealed(t.Context(), first)
	refuses(t, err, `the plan of test is being applied by run "first-apply"`, "")

	empty := sealed("second", tofu.Plan{})
	outputs, err = d.applySealed(t.Context(), empty)
	if err != nil || d.row.Applied || string(outputs["name"].Value) != `"one"` {
		t.Errorf("applied: %v, outputs %v, %v", d.row.Applied, outputs, err)
	}
	d.says("test: No changes.\n")
	d.interrupted(journal.Header{ID: "dead", Stage: "apply"})
	_, err = d.applySealed(t.Context(), empty)
	refuses(t, err, "was interrupted", "")
}

// An import whose state cannot be written has taken nothing in.
func TestBlackBoxTakeInFails(t *testing.T) {
	t.Parallel()
	d := newSealedShop(t, "resource \"terraform_data\" \"one\" {}\n")
	must(t, d.init(t.Context()))
	d.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if refused := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, d.key); refused {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	_, err := d.takeIn(t.Context(), []journal.Entry{{Address: "terraform_data.one", Action: "create", IDKey: "id", ID: "1"}})
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
	must(t, d.each(t.Context(), func(r *root) error { names = append(names, r.name); return nil }))
	if got := strings.Join(names, " "); got != "net app" {
		t.Errorf("it looks at %s", got)
	}
	d.Work, names = forTools(t), nil
	err := d.each(t.Context(), func(r *root) error { names = append(names, r.name); return errors.New("of " + r.name) })
	fails(t, err, "of net")
	d.Work = forTools(t)
	planned := func(r *root, _ plan.Summary) error {
		names = append(names, r.name)
		return errors.New("plan of " + r.name)
	}
	fails(t, d.eachPlanned(t.Context(), d.checkSeal, planned), "plan of net")
	if got := strings.Join(names, " "); got != "net net" {
		t.Errorf("it goes on: %s", got)
	}
}
