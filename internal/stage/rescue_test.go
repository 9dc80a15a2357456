package stage

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/secrets"
)

const LostText = `{"serial":8,"lineage":"line","encrypted_data":"lost"}`

// A state that tofu could not write is sealed once more, and kept beside the result and in
// the store: from its file, or as tofu told it where there was no room for one.
func TestRescue(t *testing.T) {
	for name, c := range map[string]struct {
		file, told string
		refusing   bool // the store takes no copy
		lost       bool
	}{
		"nothing is lost":          {},
		"a file":                   {file: LostText, lost: true},
		"told":                     {told: LostText, lost: true},
		"told, and a file cut off": {file: LostText[:20], told: LostText, lost: true},
		"no copy in the store":     {file: LostText, refusing: true, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.Dir = filepath.Join(d.Work, "repository")
			Do(t, os.MkdirAll(d.Dir, 0o700))
			if c.file != "" {
				Do(t, os.WriteFile(filepath.Join(d.Dir, "errored.tfstate"), []byte(c.file), 0o600))
			}
			if c.told != "" {
				d.Dumped = json.RawMessage(c.told)
			}
			if c.refusing {
				d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method == http.MethodPut {
						w.WriteHeader(http.StatusForbidden)
					}
					return r.Method == http.MethodPut
				}
			}
			lost, err := SaveLost(t.Context(), d.Layer)
			Do(t, err)
			if lost != c.lost {
				t.Fatalf("lost: %v", lost)
			}
			kept, err := os.ReadFile(filepath.Join(d.Out, "recovery", LostName(d.Layer)))
			if !c.lost {
				if err == nil {
					t.Error("something is kept")
				}
				return
			}
			Do(t, err)
			if data, err := d.Identity.Open(kept); err != nil || string(data) != LostText {
				t.Errorf("kept: %q, %v", data, err)
			}
			copied, err := d.Store.Read(t.Context(), lostKey(d.Layer)+"me.age")
			said := d.Stderr.(*bytes.Buffer).String()
			if c.refusing {
				if !strings.Contains(said, "the store does not take a copy of the lost state either: keep recovery/test.tfstate.age") {
					t.Errorf("it says %q", said)
				}
				return
			}
			if err != nil || !bytes.Equal(copied, kept) || said != "" {
				t.Errorf("the copy: %v; it says %q", err, said)
			}
		})
	}
}

// What a tool planted in the state's place is not read.
func TestRescueRefusesLinks(t *testing.T) {
	d := New(t)
	d.Dir = filepath.Join(d.Work, "repository")
	Do(t, os.MkdirAll(d.Dir, 0o700))
	secret := filepath.Join(t.TempDir(), "secret")
	Do(t, os.WriteFile(secret, []byte(LostText), 0o600))
	Do(t, os.Symlink(secret, filepath.Join(d.Dir, "errored.tfstate")))
	if lost, err := SaveLost(t.Context(), d.Layer); err == nil || lost {
		t.Errorf("lost: %v, and it was read: %v", lost, err)
	}
}

// A lost state that can be kept nowhere is lost all the same, and that is said.
func TestRescueFails(t *testing.T) {
	for name, before := range map[string]func(d *Desk){
		"nobody to seal it to": func(d *Desk) { d.Recipients = nil },
		"no folder":            func(d *Desk) { Do(t, os.WriteFile(filepath.Join(d.Out, "recovery"), nil, 0o600)) },
		"no file":              func(d *Desk) { Do(t, os.MkdirAll(filepath.Join(d.Out, "recovery", LostName(d.Layer)), 0o755)) },
	} {
		d := New(t)
		d.Dumped = json.RawMessage(LostText)
		before(d)
		if lost, err := SaveLost(t.Context(), d.Layer); !lost || err == nil {
			t.Errorf("%s: lost: %v, %v", name, lost, err)
		}
	}
}

// Of several lost states, each goes back onto the one before it, and then its copy goes. One
// that is not written is not taken away.
func TestRestoreSeveral(t *testing.T) {
	d := New(t)
	for _, serial := range []string{"7", "8"} {
		sealed, err := secrets.Envelope([]byte(`{"serial":`+serial+`,"lineage":"line","encrypted_data":"lost"}`), d.Recipients)
		Do(t, err)
		Do(t, d.Store.Write(t.Context(), lostKey(d.Layer)+serial+".age", sealed))
	}
	lost, err := ListLost(t.Context(), d.Layer, "")
	Do(t, err)
	if len(lost) != 2 {
		t.Fatalf("%+v", lost)
	}
	copies := func() int {
		objects, err := d.Store.List(t.Context(), lostKey(d.Layer))
		Do(t, err)
		return len(objects)
	}
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodPut
	}
	if err := RestoreLost(t.Context(), d.Layer, lost); err == nil || copies() != 2 {
		t.Errorf("a store that takes nothing: %v, %d copies are left", err, copies())
	}
	d.Fault = nil
	Do(t, RestoreLost(t.Context(), d.Layer, lost))
	if stamp, err := d.Store.Stamp(t.Context(), d.Key); err != nil || stamp.Serial != 8 || copies() != 0 {
		t.Errorf("%+v, %v, %d copies are left", stamp, err, copies())
	}
	d.Says("7.age is the state again, serial 7\n")
	d.Says("8.age is the state again, serial 8\n")
	Do(t, RestoreLost(t.Context(), d.Layer, lost[:1]))
	d.Says("7.age is not newer than the state in the store (serial 7, there 8): ignored\n")
}

// The state that came with the result of the run that lost it is found, too.
func TestLostStatesFrom(t *testing.T) {
	d := New(t)
	from := t.TempDir()
	if found, err := ListLost(t.Context(), d.Layer, from); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	Do(t, os.MkdirAll(filepath.Join(from, "recovery"), 0o755))
	Do(t, os.WriteFile(filepath.Join(from, "recovery", LostName(d.Layer)), []byte("sealed"), 0o600))
	found, err := ListLost(t.Context(), d.Layer, from)
	if err != nil || len(found) != 1 || found[0].key != "" || string(found[0].sealed) != "sealed" || found[0].name != "recovery/test.tfstate.age" {
		t.Errorf("%+v, %v", found, err)
	}
	Refuse(t, RestoreLost(t.Context(), d.Layer, found), "recovery/test.tfstate.age cannot be opened", "AGEKEY=file://")
}
