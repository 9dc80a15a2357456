//go:build blackbox

package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/client/config"

	"slipway/internal/must"
	"slipway/internal/run"
)

// A reader has the key of a call that makes a login.
type reader struct {
	key  []byte
	file string // with the key in base64
}

func newReader(t *testing.T) reader {
	t.Helper()
	r := reader{make([]byte, 32), filepath.Join(t.TempDir(), "login-key")}
	rand.Read(r.key)
	must.Do(t, os.WriteFile(r.file, []byte(r.text()), 0o600))
	return r
}

func (r reader) text() string { return base64.StdEncoding.EncodeToString(r.key) }

// pass passes the key, as the module does.
func (r reader) pass(o *call) { o.add("--login-key=" + r.file) }

// open returns the file that a stage has left.
func (r reader) open(t *testing.T, e ended) []byte {
	t.Helper()
	sealed, err := base64.StdEncoding.DecodeString(readFile(t, filepath.Join(e.out, "sealed")))
	must.Do(t, err)
	block, err := aes.NewCipher(r.key)
	must.Do(t, err)
	box, err := cipher.NewGCMWithRandomNonce(block)
	must.Do(t, err)
	file, err := box.Open(nil, nil, sealed, nil)
	must.Do(t, err)
	return file
}

// A login is made for the call alone: without its key it is refused, and with one nobody else sees a key or a
// certificate. It works.
func TestBlackBoxClusterLogin(t *testing.T) {
	h := newHome(t, 3)
	h.run("apply", ofCluster).must(t, run.Done)
	reader := newReader(t)
	for _, name := range []string{"kubeconfig", "talosconfig"} {
		h.run("cluster-"+name).must(t, run.BadInput).says(t, "there is no key to seal the login with", "a login is never shown in the clear", "hint: (umask 077; dagger call cluster "+name+" --env=test --for=8h plaintext >~/.")
		e := h.run("cluster-"+name, reader.pass, func(o *call) { o.add("--for=10m") }).must(t, run.Done).says(t, "login to home: valid until ")
		file := reader.open(t, e)
		canaries := clusterCanaries(h.project)
		known := len(canaries)
		for _, match := range regexp.MustCompile(`(?m)^ +(ca|crt|key|\S+-data): (\S+)$`).FindAllSubmatch(file, -1) {
			value, err := base64.StdEncoding.DecodeString(string(match[2]))
			must.Do(t, err)
			canaries[string(match[1])] = string(value)
		}
		canaries["login-key"] = reader.text()
		if found := len(canaries) - known; found != 4 {
			t.Errorf("%d secrets were found in it", found)
		}
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("%s leaks %q:\n%s%s", name, found, e.stdout, e.stderr)
		}
		if name == "talosconfig" {
			h.answers(file)
		}
	}
	h.store.failing(func(http.ResponseWriter, *http.Request, http.Handler) bool {
		t.Error("a kubeconfig needs the store")
		return false
	})
	h.run("cluster-kubeconfig", reader.pass).must(t, run.Done)
}

// answers checks that the machines answer the owner of a talosconfig.
func (h *home) answers(talosconfig []byte) {
	h.t.Helper()
	parsed, err := config.FromBytes(talosconfig)
	must.Do(h.t, err)
	connection, err := client.New(h.t.Context(), client.WithConfig(parsed))
	must.Do(h.t, err)
	defer connection.Close()
	if reply, err := connection.Version(h.t.Context()); err != nil || reply.Messages[0].Version.Tag != "v1.14.1" {
		h.t.Errorf("a machine answers %v, %v", reply, err)
	}
}
