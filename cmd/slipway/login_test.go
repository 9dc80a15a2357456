//go:build blackbox

package main

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/client/config"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// sealedWith passes the key of a call, as the module does.
func sealedWith(key testkit.LoginKey) func(*call) {
	return func(o *call) { o.add("--login-key=" + key.File) }
}

// A login is made for the call alone: without its key it is refused, and with one nobody else sees a key or a
// certificate. It works.
func TestBlackBoxClusterLogin(t *testing.T) {
	h := newHome(t, 3)
	h.run("apply", ofCluster).must(t, run.Done)
	key := testkit.NewLoginKey(t)
	for _, name := range []string{"kubeconfig", "talosconfig"} {
		h.run("cluster-"+name).must(t, run.BadInput).says(t, "there is no key to seal the login with", "a login is never shown in the clear", "hint: (umask 077; dagger call cluster "+name+" --env=test --for=8h plaintext >~/.")
		e := h.run("cluster-"+name, sealedWith(key), func(o *call) { o.add("--for=10m") }).must(t, run.Done).says(t, "login to home: valid until ")
		file := key.Open(t, e.out)
		canaries := clusterCanaries(h.project)
		known := len(canaries)
		for _, match := range regexp.MustCompile(`(?m)^ +(ca|crt|key|\S+-data): (\S+)$`).FindAllSubmatch(file, -1) {
			value, err := base64.StdEncoding.DecodeString(string(match[2]))
			must.Do(t, err)
			canaries[string(match[1])] = string(value)
		}
		canaries["login-key"] = key.Text
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
	h.run("cluster-kubeconfig", sealedWith(key)).must(t, run.Done)
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
