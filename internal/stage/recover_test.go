//go:build blackbox

package stage

import (
	"net/http"
	"testing"
	"time"

	"slipway/internal/journal"
)

// What cannot be imported is named with its id, and does not keep the rest from being
// taken in, or the environment from going on.
func TestBlackBoxRecoverImports(t *testing.T) {
	p := newProject(t, "")
	c := p.onCloud()
	p.write("environments/test/main.tf", c.code("operator", "second"))
	p.run("bootstrap").must(t, Done)
	// One that is there, and one of another id than its provider imports by.
	c.call(http.MethodPost, "/compute/v2.1/os-keypairs", `{"keypair": {"name": "operator", "public_key": "`+cloudKey+`"}}`, http.StatusOK)
	book, err := journal.Open(t.Context(), p.bucket(), []string{p.key.Recipient().String()}, "test/test.tfstate",
		journal.Header{ID: "dead", Stage: "apply", Environment: "test", Layer: "test", Started: time.Now().UTC()}, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"operator", "second"} {
		address, id := "openstack_compute_keypair_v2."+name, name
		if name == "second" {
			id = "project/second"
		}
		book.Add(journal.Entry{Kind: journal.Start, Time: time.Now(), Address: address, Action: "create"})
		book.Add(journal.Entry{Kind: journal.Complete, Time: time.Now(), Address: address, Action: "create", IDKey: "id", ID: id})
	}
	if err := book.Close(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	p.run("apply").must(t, BadInput).says(t, "was interrupted", "hint: dagger call recover --env=test")
	p.run("recover").must(t, Failed).says(t, "openstack_compute_keypair_v2.second was made, and is not in the state: its id is project/second",
		"1 of what was made could not be taken into the state of test: put an import block for each into the code")
	p.run("state-list").must(t, Done).says(t, "test: openstack_compute_keypair_v2.operator\n")
	p.run("recover").must(t, Done).says(t, "nothing was interrupted")
	p.run("plan").must(t, Changes).says(t, "1 to create", "openstack_compute_keypair_v2.second")
}
