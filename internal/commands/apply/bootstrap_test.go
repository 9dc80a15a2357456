package apply

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"slipway/internal/marker"
	"slipway/internal/must"
	"slipway/internal/state"
	"slipway/internal/testkit"
)

// Bootstrap says what it found, what it did, and what the store cannot do. A second run writes
// nothing.
func TestBootstrap(t *testing.T) {
	const (
		checked = "lock check passed: in 25 rounds, one of 8 concurrent writers got the lock\n"
		kept    = "earlier versions of the state are kept\n"
		lost    = "earlier versions of the state are not kept: the store has no versioning\n"
		marked  = "marked it as the store of environment test\n"
	)
	d := testkit.New(t)
	exists := d.Store.Name() + " already exists\n"
	bootstrapped := func(want string) {
		t.Helper()
		before := d.Text()
		must.Do(t, bootstrap(t.Context(), d.Run))
		if got := strings.TrimPrefix(d.Text(), before); got != want {
			t.Errorf("it says\n%s, not\n%s", got, want)
		}
	}
	d.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	bootstrapped(exists + checked + kept + marked)
	bootstrapped(exists + checked + kept)

	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("versioning") {
			return false
		}
		w.WriteHeader(http.StatusNotImplemented)
		return true
	}
	bootstrapped(exists + checked + lost)

	// A new passphrase proves itself to the runs that follow.
	const another = "another-passphrase-for-tests-Wq8Zt3Vn1Xb6"
	d.Credentials = map[string]string{state.Passphrase: another, state.PreviousPassphrase: testkit.Passphrase}
	bootstrapped(exists + checked + lost + marked)
	data, err := d.Store.Read(t.Context(), d.MarkerKey())
	must.Do(t, err)
	var m marker.Marker
	if err := json.Unmarshal(data, &m); err != nil || !m.ProvedBy(another) || m.ProvedBy(testkit.Passphrase) {
		t.Errorf("the marker is %s: %v", data, err)
	}
	d.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	must.Refuse(t, bootstrap(t.Context(), d.Run), "is not the passphrase that encrypts its state", "")
}
