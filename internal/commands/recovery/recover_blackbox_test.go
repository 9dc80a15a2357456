//go:build blackbox

package recovery

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// What was interrupted is recovered under a lock of recover's own, and forgotten only when
// all is accounted for.
func TestBlackBoxRecoverRoot(t *testing.T) {
	t.Parallel()
	d := testkit.NewSealedShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	d.Result.Stage = "recover"
	must.Do(t, recoverLayer(t.Context(), d.Layer, options{}))
	d.Says("test: nothing was interrupted\n")

	dead := d.Other(journal.Header{ID: "dead", Stage: "apply", Lock: "of-dead"})
	dead.Locked()
	for _, one := range []struct{ name, id string }{{"one", "id-1"}, {"lost", "id-2"}} {
		address := "terraform_data." + one.name
		dead.Add(journal.Entry{Kind: journal.Start, Time: time.Now(), Address: address, Action: "create"})
		dead.Add(journal.Entry{Kind: journal.Complete, Time: time.Now(), Address: address, Action: "create", IDKey: "id", ID: one.id})
	}
	must.Do(t, dead.Abandon(t.Context()))
	d.LockAs("of-dead")
	err := recoverLayer(t.Context(), d.Layer, options{})
	must.Fail(t, err, "cannot account for 1 of the resources that were or may have been created: terraform_data.lost.")
	must.Hint(t, err, "dagger call recover --env=test --seen='terraform_data.lost'   # when you have looked")
	d.Says("test: run dead (apply, started ")
	d.Says("test: locked by root@host since ")
	d.Says("test: terraform_data.one was created: importing it into the state (id)\n")
	if got := d.InState(); got != "terraform_data.one" {
		t.Errorf("the state has %q", got)
	}
	if keys := strings.Join(d.Journals(), " "); !strings.Contains(keys, "dead/") || strings.Contains(keys, "me/") || d.LockID() != "" {
		t.Errorf("there is %s, lock %q", keys, d.LockID())
	}
	must.Do(t, recoverLayer(t.Context(), d.Layer, options{seen: "terraform_data.lost"}))
	if keys := d.Journals(); len(keys) > 0 || d.LockID() != "" {
		t.Errorf("there is %q, lock %q", keys, d.LockID())
	}

	// A lock that no journal names is nobody's to take.
	d.LockAs("laptop")
	must.Refuse(t, recoverLayer(t.Context(), d.Layer, options{}), "the lock of test is in no journal", "--lock-id=laptop")
	if d.LockID() != "laptop" {
		t.Error("the lock is gone")
	}
	if keys := d.Journals(); len(keys) > 0 {
		t.Errorf("there is %q", keys)
	}
	must.Do(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))

	// An active run is not disturbed.
	d.Other(journal.Header{ID: "busy", Stage: "apply"})
	must.Refuse(t, recoverLayer(t.Context(), d.Layer, options{}), "run busy (apply, started ", "wait until it ends")
}

// An import whose state cannot be written has taken nothing in.
func TestBlackBoxTakeInFails(t *testing.T) {
	t.Parallel()
	d := testkit.NewSealedShop(t, "resource \"terraform_data\" \"one\" {}\n")
	must.Do(t, d.Init(t.Context()))
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if refused := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, d.Key); refused {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	_, err := importAll(t.Context(), d.Layer, []journal.Entry{{Address: "terraform_data.one", Action: "create", IDKey: "id", ID: "1"}})
	must.Fail(t, err, "tofu apply of test failed")
	if strings.Contains(d.Text(), "importing it into the state") {
		t.Errorf("it says %s", d.Text())
	}
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
			says: []string{"terraform_data.one was created: importing it into the state (id)", "terraform_data.two was created: importing it into the state (id)"}, has: "terraform_data.one terraform_data.two", once: true,
		},
		"one is to be replaced": {
			code: "resource \"terraform_data\" \"one\" { triggers_replace = 1 }\n", made: []journal.Entry{entry("one", "id-1")}, has: "terraform_data.one",
			says: []string{"terraform_data.one was created: importing it into the state (id)"}, tells: "terraform_data.one: the next apply replaces it, because an import does not read its triggers_replace",
		},
		"one by one": {
			code: "resource \"terraform_data\" \"one\" { input = 1 }\nresource \"terraform_data\" \"two\" {}\n",
			made: []journal.Entry{entry("one", "id-1"), entry("two", "id-2")},
			says: []string{"terraform_data.one was created: importing it into the state (id)", "terraform_data.two was created: importing it into the state (id)"}, has: "terraform_data.one terraform_data.two",
		},
		"one is not in the code": {
			code: "resource \"terraform_data\" \"one\" {}\n", made: []journal.Entry{entry("one", "id-1"), entry("two", "id-2")},
			left: "terraform_data.two", says: []string{"terraform_data.one was created: importing it into the state (id)"}, has: "terraform_data.one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := testkit.NewShop(t, c.code)
			left, err := importAll(t.Context(), d.Layer, c.made)
			must.Do(t, err)
			if got := strings.Join(addresses(left), " "); got != c.left {
				t.Errorf("left is %q", got)
			}
			for _, want := range append(c.says, c.tells) {
				d.Says(want)
			}
			if n := strings.Count(d.Text(), "importing it into the state"); n != len(c.says) {
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
			must.Do(t, err)
			for _, e := range c.made {
				// Nothing is changed, also where the code says that something is to be.
				if one := recorded[e.Address]; one != nil && (layer.Attribute(one, "id") != e.ID || one.AttributeValues["input"] != nil || one.AttributeValues["triggers_replace"] != nil) {
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
	d := testkit.NewShop(t, `
resource "terraform_data" "one" { input = "eins" }
resource "terraform_data" "two" { input = terraform_data.one.id }
resource "terraform_data" "three" {}
`)
	d.Row.Changes["create"], d.Row.Outputs = 7, 7
	left, err := importAll(t.Context(), d.Layer, []journal.Entry{
		{Address: "terraform_data.two", Action: "create", IDKey: "id", ID: "2"}, {Address: "terraform_data.one", Action: "create", IDKey: "id", ID: "1"},
		{Address: "terraform_data.three", Action: "create", IDKey: "id", ID: "3"}, {Address: "terraform_data.none", Action: "create", IDKey: "id", ID: "4"},
	})
	must.Do(t, err)
	if got := strings.Join(addresses(left), " "); got != "terraform_data.none terraform_data.three" {
		t.Errorf("left is %q", got)
	}
	recorded, err := d.Recorded(t.Context())
	must.Do(t, err)
	if one, two := recorded["terraform_data.one"], recorded["terraform_data.two"]; one == nil || two == nil || layer.Attribute(one, "id") != "eins/1" || layer.Attribute(two, "id") != "eins/1/2" {
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
	d := testkit.NewShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"gone\" {}\nresource \"terraform_data\" \"new\" {}\nresource \"terraform_data\" \"replaced\" {}\nresource \"terraform_data\" \"plain\" {}\n")
	d.Apply()
	must.Do(t, forget(t.Context(), d.Layer, "terraform_data.new", "terraform_data.plain"))
	before, err := d.Recorded(t.Context())
	must.Do(t, err)
	open, err := reconcile(t.Context(), d.Layer, journal.Outcome{
		Deleted: []journal.Entry{{Address: "terraform_data.gone"}, {Address: "terraform_data.never"}},
		Created: []journal.Entry{
			made("one", layer.Attribute(before["terraform_data.one"], "id")), made("new", "id-new"), made("replaced", "id-of-another"),
			{Address: "terraform_data.plain"}, made("lost", "id-lost"),
		},
	})
	must.Do(t, err)
	if got := strings.Join(open, " "); got != "terraform_data.plain terraform_data.lost" {
		t.Errorf("open are %q", got)
	}
	for _, want := range []string{
		"terraform_data.gone was deleted: removing it from the state\n", "terraform_data.plain was created, but its provider reported no ID for an import\n",
		"terraform_data.new was created: importing it into the state (id)\n", "terraform_data.replaced was created: importing it into the state (id)\n",
		"terraform_data.lost was created, but could not be imported into the state: its id is id-lost\n",
	} {
		d.Says(want)
	}
	if text := d.Text(); strings.Contains(text, "never") || strings.Contains(text, "the state holds all") || strings.Contains(text, ".one ") {
		t.Errorf("it says %s", text)
	}
	after, err := d.Recorded(t.Context())
	must.Do(t, err)
	if after["terraform_data.gone"] != nil || layer.Attribute(after["terraform_data.new"], "id") != "id-new" || layer.Attribute(after["terraform_data.replaced"], "id") != "id-of-another" {
		t.Errorf("the state has %+v", after)
	}

	d = testkit.NewShop(t, "resource \"terraform_data\" \"one\" {}\n")
	d.Apply()
	recorded, err := d.Recorded(t.Context())
	must.Do(t, err)
	open, err = reconcile(t.Context(), d.Layer, journal.Outcome{Created: []journal.Entry{made("one", layer.Attribute(recorded["terraform_data.one"], "id")), {Address: "terraform_data.one"}}})
	if err != nil || len(open) > 0 || d.Text() != "test: everything that was created is in the state\n" {
		t.Errorf("open are %q, %v, it says %s", open, err, d.Text())
	}
}

// Of what was in flight, what the state has was made; the rest is a question.
func TestBlackBoxSearch(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, "resource \"terraform_data\" \"one\" {}\n")
	d.Apply()
	found, _, unknown, err := searchAll(t.Context(), d.Layer, journal.Outcome{InFlight: []journal.Entry{
		{Address: "terraform_data.one", Action: "create"}, {Address: "terraform_data.two", Action: "create"},
	}})
	if err != nil || len(found) > 0 || strings.Join(unknown, " ") != "terraform_data.two" {
		t.Errorf("found %v, unknown %q, %v", found, unknown, err)
	}
	d.Says("terraform_data.one was in flight (create), and is in the state\n")
}

// A tainted resource is recreated by the next apply.
func TestBlackBoxTaint(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, "resource \"terraform_data\" \"one\" {}\n")
	d.Apply()
	must.Do(t, taint(t.Context(), d.Layer, map[string]string{"terraform_data.one": "it may be incomplete"}))
	d.Says("terraform_data.one will be recreated: it may be incomplete\n")
	summary, err := d.Plan(t.Context(), tofu.Plan{})
	if err != nil || strings.Join(summary.Losses(), " ") != "terraform_data.one" {
		t.Errorf("the plan is %+v, %v", summary, err)
	}
	must.Fail(t, taint(t.Context(), d.Layer, map[string]string{"terraform_data.none": "x"}), "tofu taint of test failed")
}

// What an address stands for is taken out of the state; an address that is not there is an error.
func TestBlackBoxForget(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	d.Apply()
	must.Do(t, forget(t.Context(), d.Layer))
	must.Do(t, forget(t.Context(), d.Layer, "terraform_data.two"))
	if got := d.InState(); got != "terraform_data.one" {
		t.Errorf("the state has %q", got)
	}
	must.Fail(t, forget(t.Context(), d.Layer, "terraform_data.none"), "tofu state rm of test failed")
}

// What was imported and is not ready keeps nobody from looking at the rest. Other faults of a plan do.
func TestBlackBoxNotReady(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, `
resource "terraform_data" "base" {
  input = "creating"
  lifecycle {
    postcondition {
      condition     = self.input == "ready"
      error_message = "base is not ready"
    }
  }
}
resource "terraform_data" "top" { input = terraform_data.base.id }
resource "terraform_data" "apart" {}
`)
	made := func(names ...string) (entries []journal.Entry) {
		for _, name := range names {
			entries = append(entries, journal.Entry{Address: "terraform_data." + name})
		}
		return entries
	}
	wishes, complete, err := wishesOf(t.Context(), d.Layer, made("top", "apart"), made("base"))
	must.Do(t, err)
	if _, top := wishes["terraform_data.top"]; top || complete || wishes["terraform_data.apart"].kind != "terraform_data" {
		t.Errorf("complete: %v, %+v", complete, wishes)
	}
	d.Says("test: terraform_data.base is not ready, so nothing was made that depends on it\n")
	s := search{wishes: wishes, creates: made("top", "apart", "begun"), begun: map[string]bool{"terraform_data.begun": true}}
	s.dropBlocked()
	if got := strings.Join(addresses(s.creates), " "); got != "terraform_data.apart terraform_data.begun" {
		t.Errorf("it looks for %s", got)
	}
	if d.Complaints.Len() > 0 || len(d.Diagnostics) > 0 {
		t.Errorf("it complains: %s", d.Complaints.String())
	}

	_, _, err = wishesOf(t.Context(), d.Layer, made("top"), made("apart"))
	must.Fail(t, err, "tofu plan of test failed")
	if !strings.Contains(d.Complaints.String(), "base is not ready") {
		t.Errorf("it complains: %s", d.Complaints.String())
	}
	d.File("main.tf", `resource "terraform_data" "top" { input = file("none") }`)
	_, _, err = wishesOf(t.Context(), d.Layer, made("top"), made("top"))
	must.Fail(t, err, "tofu plan of test failed")
}
