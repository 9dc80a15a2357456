package secrets

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"slipway/internal/must"
)

const document = `cluster:
    id: of-the-cluster
    # a comment
certs:
    etcd:
        key: of-etcd
    list:
        - first
        - name: second
`

// A document comes out as it went in, and nothing of its values is in the sealed file.
func TestDocument(t *testing.T) {
	const name = "credentials/test-talos.enc.yaml"
	me, recipient := identity(t)
	other, _ := identity(t)
	sealed, err := SealDocument(name, []byte(document), []string{recipient})
	must.Do(t, err)
	if bytes.Contains(sealed, []byte("of-etcd")) || bytes.Contains(sealed, []byte("second")) || !bytes.Contains(sealed, []byte("etcd:")) {
		t.Errorf("sealed:\n%s", sealed)
	}
	plain, err := OpenDocument(name, sealed, me)
	must.Do(t, err)
	if string(plain) != document {
		t.Errorf("got\n%s", plain)
	}
	_, err = OpenDocument(name, sealed, other)
	if _, foreign := errors.AsType[*ForeignError](err); !foreign {
		t.Errorf("by another: %v", err)
	}
	if again, err := UpdateKeys(name, sealed, me, []string{recipient}); err != nil {
		t.Error(err)
	} else if plain, err := OpenDocument(name, again, me); err != nil || string(plain) != document {
		t.Errorf("with a new data key: %v\n%s", err, plain)
	}
}

// An empty value is not covered by the MAC, so it is refused at any depth.
func TestDocumentEmpty(t *testing.T) {
	const name = "x.enc.yaml"
	me, recipient := identity(t)
	for at, text := range map[string]string{
		"a":      "a: \"\"\nb: {c: x}\n",
		"b.c":    "b: {c: \"\"}\n",
		"b[1].c": "b: [x, {c: \"\"}]\n",
		"b[0]":   "b: [\"\"]\n",
	} {
		sealed, err := SealDocument(name, []byte(text), []string{recipient})
		must.Do(t, err)
		if _, err := OpenDocument(name, sealed, me); err == nil || !strings.Contains(err.Error(), "has an empty "+at) {
			t.Errorf("%s: %v", at, err)
		}
		if err := verify(name, sealed, me); err == nil {
			t.Errorf("%s: nothing is wrong with it", at)
		}
	}
	for _, text := range []string{"a: b\n---\nc: d\n", ": :", ""} {
		_, err := SealDocument(name, []byte(text), []string{recipient})
		must.Fail(t, err, name+" would not be one document")
	}
}

// The check of all files accepts variables and documents.
func TestVerify(t *testing.T) {
	me, recipient := identity(t)
	must.Do(t, verify("x.enc.env", seal(t, "x.enc.env", recipient), me))
	sealed := sealText(t, "x.enc.yaml", document, recipient)
	must.Do(t, verify("x.enc.yaml", sealed, me))
	changed := bytes.Replace(sealed, []byte("etcd:"), []byte("ectd:"), 1)
	if err := verify("x.enc.yaml", changed, me); err == nil {
		t.Error("a renamed key is not noticed")
	}
}
