package rescue

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/must"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/testkit"
)

// A lost state goes back only where it follows on what is there.
func TestPutBack(t *testing.T) {
	lost := `{"serial":8,"lineage":"line","encrypted_data":"lost"}`
	for name, c := range map[string]struct {
		kept    string // in the store; empty: none
		want    string // of the error; empty: none
		written bool
	}{
		"on an older one":      {`{"serial":7,"lineage":"line","encrypted_data":"x"}`, "", true},
		"where there is none":  {"", "", true},
		"on the same":          {`{"serial":8,"lineage":"line","encrypted_data":"x"}`, "", false},
		"on a newer one":       {`{"serial":9,"lineage":"line","encrypted_data":"x"}`, "", false},
		"of another lineage":   {`{"serial":7,"lineage":"other","encrypted_data":"x"}`, "differs from that of the state", false},
		"where one is damaged": {`{"serial"`, "is damaged", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			if c.kept != "" {
				must.Do(t, d.Store.Write(t.Context(), d.Key, []byte(c.kept)))
			}
			sealed, err := secrets.Envelope([]byte(lost), d.Recipients)
			must.Do(t, err)
			copied := lostKey(d.Layer) + "you.age"
			must.Do(t, d.Store.Write(t.Context(), copied, sealed))
			found, err := List(t.Context(), d.Layer, "")
			must.Do(t, err)
			if len(found) != 1 || found[0].key != copied {
				t.Fatalf("%+v", found)
			}
			err = Restore(t.Context(), d.Layer, found)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
			now, err := d.Store.Read(t.Context(), d.Key)
			if errors.Is(err, state.ErrNone) {
				err = nil
			}
			must.Do(t, err)
			if written := string(now) == lost; written != c.written || !written && string(now) != c.kept {
				t.Errorf("the state is %s", now)
			}
			// The copy goes when it is of no more use.
			if _, err := d.Store.Read(t.Context(), copied); errors.Is(err, state.ErrNone) == (c.want != "") {
				t.Errorf("the copy: %v", err)
			}
		})
	}
}

// A state that tofu could not write is encrypted and saved beside the result and in the store: from
// its file, or from tofu's event if there was no room for a file.
func TestRescue(t *testing.T) {
	for name, c := range map[string]struct {
		file, told string
		refusing   bool // the store takes no copy
		lost       bool
	}{
		"nothing is lost":          {},
		"a file":                   {file: testkit.LostText, lost: true},
		"told":                     {told: testkit.LostText, lost: true},
		"told, and a file cut off": {file: testkit.LostText[:20], told: testkit.LostText, lost: true},
		"no copy in the store":     {file: testkit.LostText, refusing: true, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.Dir = filepath.Join(d.Work, "repository")
			must.Do(t, os.MkdirAll(d.Dir, 0o700))
			if c.file != "" {
				must.Do(t, os.WriteFile(filepath.Join(d.Dir, "errored.tfstate"), []byte(c.file), 0o600))
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
			lost, err := Save(t.Context(), d.Layer)
			must.Do(t, err)
			if lost != c.lost {
				t.Fatalf("lost: %v", lost)
			}
			kept, err := os.ReadFile(filepath.Join(d.Out, "recovery", FileName(d.Layer)))
			if !c.lost {
				if err == nil {
					t.Error("something is kept")
				}
				return
			}
			must.Do(t, err)
			if data, err := d.Identity.Open(kept); err != nil || string(data) != testkit.LostText {
				t.Errorf("kept: %q, %v", data, err)
			}
			copied, err := d.Store.Read(t.Context(), lostKey(d.Layer)+"me.age")
			said := d.Stderr.(*bytes.Buffer).String()
			if c.refusing {
				if !strings.Contains(said, "the store does not accept a copy of the lost state either: keep recovery/test.tfstate.age") {
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
	d := testkit.New(t)
	d.Dir = filepath.Join(d.Work, "repository")
	must.Do(t, os.MkdirAll(d.Dir, 0o700))
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte(testkit.LostText), 0o600))
	must.Do(t, os.Symlink(secret, filepath.Join(d.Dir, "errored.tfstate")))
	if lost, err := Save(t.Context(), d.Layer); err == nil || lost {
		t.Errorf("lost: %v, and it was read: %v", lost, err)
	}
}

// A lost state that can be kept nowhere is lost all the same, and that is said.
func TestRescueFails(t *testing.T) {
	for name, before := range map[string]func(d *testkit.Desk){
		"nobody to seal it to": func(d *testkit.Desk) { d.Recipients = nil },
		"no folder":            func(d *testkit.Desk) { must.Do(t, os.WriteFile(filepath.Join(d.Out, "recovery"), nil, 0o600)) },
		"no file": func(d *testkit.Desk) {
			must.Do(t, os.MkdirAll(filepath.Join(d.Out, "recovery", FileName(d.Layer)), 0o755))
		},
	} {
		d := testkit.New(t)
		d.Dumped = json.RawMessage(testkit.LostText)
		before(d)
		if lost, err := Save(t.Context(), d.Layer); !lost || err == nil {
			t.Errorf("%s: lost: %v, %v", name, lost, err)
		}
	}
}

// Of several lost states, each is restored over the one before it, and then its copy is deleted.
// The copy of one that is not restored stays.
func TestRestoreSeveral(t *testing.T) {
	d := testkit.New(t)
	for _, serial := range []string{"7", "8"} {
		sealed, err := secrets.Envelope([]byte(`{"serial":`+serial+`,"lineage":"line","encrypted_data":"lost"}`), d.Recipients)
		must.Do(t, err)
		must.Do(t, d.Store.Write(t.Context(), lostKey(d.Layer)+serial+".age", sealed))
	}
	lost, err := List(t.Context(), d.Layer, "")
	must.Do(t, err)
	if len(lost) != 2 {
		t.Fatalf("%+v", lost)
	}
	copies := func() int {
		objects, err := d.Store.List(t.Context(), lostKey(d.Layer))
		must.Do(t, err)
		return len(objects)
	}
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodPut
	}
	if err := Restore(t.Context(), d.Layer, lost); err == nil || copies() != 2 {
		t.Errorf("a store that takes nothing: %v, %d copies are left", err, copies())
	}
	d.Fault = nil
	must.Do(t, Restore(t.Context(), d.Layer, lost))
	if stamp, err := d.Store.Stamp(t.Context(), d.Key); err != nil || stamp.Serial != 8 || copies() != 0 {
		t.Errorf("%+v, %v, %d copies are left", stamp, err, copies())
	}
	d.Says("7.age as the state, serial 7\n")
	d.Says("8.age as the state, serial 8\n")
	must.Do(t, Restore(t.Context(), d.Layer, lost[:1]))
	d.Says("7.age is not newer than the state in the store (serial 7, stored 8): ignored\n")
}

// The state that came with the result of the run that lost it is found, too.
func TestLostStatesFrom(t *testing.T) {
	d := testkit.New(t)
	from := t.TempDir()
	if found, err := List(t.Context(), d.Layer, from); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(from, "recovery"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(from, "recovery", FileName(d.Layer)), []byte("sealed"), 0o600))
	found, err := List(t.Context(), d.Layer, from)
	if err != nil || len(found) != 1 || found[0].key != "" || string(found[0].sealed) != "sealed" || found[0].name != "recovery/test.tfstate.age" {
		t.Errorf("%+v, %v", found, err)
	}
	must.Refuse(t, Restore(t.Context(), d.Layer, found), "recovery/test.tfstate.age cannot be decrypted", "AGEKEY=file://")
}
