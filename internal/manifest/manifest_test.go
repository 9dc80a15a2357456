package manifest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"slipway/internal/state"
)

const passphrase = "a-passphrase-for-tests-7Hq2v9"

func example() Manifest {
	created := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	return Manifest{
		RunID: "run01", Environment: "prod", Layer: "apps", Commit: "1234567", Base: "7654321",
		Created: created, Expires: created.Add(time.Hour), Plan: Digest([]byte("plan")),
		Changes: true, Losses: []string{`a.b["c"]`, "d.e"},
		Bindings: Bindings{
			Inputs: Digest([]byte("files")), Tools: map[string]string{"tofu": Digest([]byte("tofu"))},
			Images: map[string]string{"DEBIAN": "debian@sha256:1"}, State: state.Stamp{Serial: 3, Lineage: "l"},
			Upstream: map[string]state.Stamp{"base": {Serial: 1, Lineage: "b"}}, LockFile: Digest([]byte("lock")),
		},
	}
}

// What was sealed opens, under the passphrase of then also when it has become the
// previous one, and under no other.
func TestOpens(t *testing.T) {
	data, err := Seal(example(), passphrase)
	if err != nil {
		t.Fatal(err)
	}
	for _, passphrases := range [][]string{{passphrase}, {passphrase, ""}, {"another", passphrase}} {
		m, err := Open(data, passphrases...)
		if err != nil {
			t.Fatalf("%q: %v", passphrases, err)
		}
		want := example()
		want.Version, want.MAC = 1, m.MAC
		if fmt.Sprint(m) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", m, want)
		}
	}
	for _, passphrases := range [][]string{{"another"}, {""}, nil} {
		if _, err := Open(data, passphrases...); !errors.Is(err, ErrChanged) {
			t.Errorf("%q: got %v", passphrases, err)
		}
	}
}

// A manifest that was opened can be sealed again, under another passphrase, too.
func TestSealsAgain(t *testing.T) {
	first, err := Seal(example(), passphrase)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(first, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Seal(m, passphrase)
	if err != nil || !bytes.Equal(again, first) {
		t.Errorf("%v: it became %s", err, again)
	}
	other, err := Seal(m, "another")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, "another"); err != nil {
		t.Error(err)
	}
}

// forge makes a manifest of a version, with a MAC of another kind.
func forge(t *testing.T, version int, mac func(body []byte) string) []byte {
	t.Helper()
	m := example()
	m.Version = version
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	m.MAC = mac(body)
	data, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Only version 1 is known, and only a MAC that was made for a manifest counts: the
// passphrase makes others, for other things.
func TestRefusesForgeries(t *testing.T) {
	ours := func(body []byte) string { return mac(body, passphrase) }
	if _, err := Open(forge(t, 1, ours), passphrase); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"a version of the future": forge(t, 2, ours),
		"no version":              forge(t, 0, ours),
		"no MAC":                  forge(t, 1, func([]byte) string { return "" }),
		"a MAC of something else": forge(t, 1, func(body []byte) string {
			h := hmac.New(sha256.New, []byte(passphrase))
			h.Write(body)
			return hex.EncodeToString(h.Sum(nil))
		}),
	} {
		if _, err := Open(data, passphrase); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// No byte of a manifest can be another one, and no field be left out, doubled or
// added.
func TestRefusesEveryChange(t *testing.T) {
	data, err := Seal(example(), passphrase)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for _, bit := range []byte{1, 32} { // 32 changes the case of letters
			changed := bytes.Clone(data)
			changed[i] ^= bit
			if _, err := Open(changed, passphrase); !errors.Is(err, ErrChanged) {
				t.Errorf("byte %d as %q: got %v", i, changed[i], err)
			}
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		delete(fields, name)
		short, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		fields[name] = value
		doubled := bytes.Replace(data, []byte("{\n"), []byte("{\n  \""+name+"\": "+string(value)+",\n"), 1)
		for kind, changed := range map[string][]byte{"left out": short, "doubled": doubled} {
			if _, err := Open(changed, passphrase); !errors.Is(err, ErrChanged) {
				t.Errorf("%s %s: got %v", name, kind, err)
			}
		}
	}
	for _, changed := range []string{"", "null", "{}", "[]", string(data) + " ", `{"version":1,"mac":""}`} {
		if _, err := Open([]byte(changed), passphrase); !errors.Is(err, ErrChanged) {
			t.Errorf("%q: got %v", changed, err)
		}
	}
}

// Each binding is compared, and the first that differs is named.
func TestDiffers(t *testing.T) {
	b := example().Bindings
	if name := b.Differs(example().Bindings); name != "" {
		t.Errorf("it differs from itself: %s", name)
	}
	for want, change := range map[string]func(*Bindings){
		"a file of the repository":       func(b *Bindings) { b.Inputs = "other" },
		"the program tofu":               func(b *Bindings) { b.Tools = map[string]string{"tofu": "other"} },
		"the program more":               func(b *Bindings) { b.Tools["more"] = "other" },
		"the image DEBIAN":               func(b *Bindings) { b.Images = nil },
		"the state":                      func(b *Bindings) { b.State.Serial++ },
		"the state of layer base":        func(b *Bindings) { b.Upstream = map[string]state.Stamp{} },
		"the lock file of the providers": func(b *Bindings) { b.LockFile = "" },
	} {
		now := example().Bindings
		change(&now)
		if name := b.Differs(now); name != want {
			t.Errorf("got %q, want %q", name, want)
		}
		if name := now.Differs(b); name != want {
			t.Errorf("the other way round: got %q, want %q", name, want)
		}
	}
}

// Of several programs that differ, the first by name is named, each time.
func TestDiffersInOrder(t *testing.T) {
	b, now := example().Bindings, example().Bindings
	for _, name := range []string{"e", "b", "d", "a", "f", "c"} {
		now.Tools[name] = "new"
	}
	for range 20 {
		if got := b.Differs(now); got != "the program a" {
			t.Fatalf("got %q", got)
		}
	}
}

// Without a passphrase there is no MAC: none is made, and one that was made under the
// empty passphrase opens for nobody.
func TestNoPassphrase(t *testing.T) {
	if data, err := Seal(example(), ""); err == nil {
		t.Errorf("it is sealed: %s", data)
	}
	forged := forge(t, 1, func(body []byte) string { return mac(body, "") })
	for _, passphrases := range [][]string{{""}, {"", ""}, {passphrase, ""}, nil} {
		if _, err := Open(forged, passphrases...); !errors.Is(err, ErrChanged) {
			t.Errorf("%q: %v", passphrases, err)
		}
	}
}
