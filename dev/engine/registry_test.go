package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"slipway/dev/engine/build"
)

// A push goes by the socket, and nothing of it by loopback, where all that is not a
// read is refused.
func TestPush(t *testing.T) {
	s := settings{run: t.TempDir()}
	if err := os.Mkdir(s.pushFolder(), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", s.pushSocket())
	if err != nil {
		t.Fatal(err)
	}
	var pushed, loopback atomic.Int32
	all := registry.New()
	writes := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pushed.Add(1)
		all.ServeHTTP(w, r)
	}))
	writes.Listener = listener
	writes.Start()
	t.Cleanup(writes.Close)
	reads := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loopback.Add(1)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("loopback is asked to %s", r.Method)
		}
		all.ServeHTTP(w, r)
	}))
	t.Cleanup(reads.Close)
	s.port = reads.Listener.Addr().(*net.TCPAddr).Port

	if !s.registryAnswers(t.Context()) {
		t.Error("it does not answer")
	}
	before := loopback.Load()
	dir := t.TempDir()
	index, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = index.AppendImage(empty.Image)
	}
	if err != nil {
		t.Fatal(err)
	}
	digest, err := s.push(t.Context(), dir, "docker.io/library/one:1")
	if err != nil || pushed.Load() == 0 || loopback.Load() != before {
		t.Fatalf("%v; %d requests by the socket, %d by loopback", err, pushed.Load(), loopback.Load()-before)
	}
	response, err := http.Get("http://" + s.registryAddress() + "/v2/library/one/manifests/" + digest)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("it is not there: %s", response.Status)
	}
	writes.Close()
	if s.registryAnswers(context.Background()) {
		t.Error("it answers without the one that takes pushes")
	}
}

// The registry that everybody reaches only reads; the other is on no network.
func TestRegistryConfig(t *testing.T) {
	s := settings{run: "/run/x"}
	if text := registryConfig(); !strings.Contains(text, "maintenance: {readonly: {enabled: true}}") || !strings.Contains(text, `addr: ":5000"`) {
		t.Error(text)
	}
	if text := pushConfig(); !strings.Contains(text, "net: unix") || strings.Contains(text, "127.0.0.1") {
		t.Error(text)
	}
	if filepath.Dir(s.pushSocket()) != "/run/x/push" {
		t.Error(s.pushSocket())
	}
}

// The pins file has the tools for clusters as soon as they are built, with the versions that were built.
func TestPublished(t *testing.T) {
	s := settings{repo: "../..", cache: build.Cache(t.TempDir())}
	list := func() (text string) {
		t.Helper()
		images, err := s.published()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range images {
			text += i.Pin + "=" + i.Reference + "\n"
		}
		return text
	}
	without := list()
	for _, want := range []string{"DEBIAN=docker.io/library/debian:", "OPENTOFU=ghcr.io/opentofu/opentofu:", "CADDY=docker.io/library/caddy:"} {
		if !strings.Contains(without, want) {
			t.Errorf("there is no %s in\n%s", want, without)
		}
	}
	if err := os.MkdirAll(s.cache.Products(), 0o755); err != nil {
		t.Fatal(err)
	}
	tools := ""
	for _, i := range s.rack().Tools() {
		if strings.Contains(without, i.Pin+"=") {
			t.Errorf("%s is published before it is built:\n%s", i.Pin, without)
		}
		if err := os.WriteFile(s.cache.Path("products", i.Product(s.cache, s.repo).Key()+".sha256"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		tools += i.Pin + "=" + i.Reference + "\n"
	}
	if got := list(); got != without+tools || !strings.Contains(tools, "KUBECTL=registry.k8s.io/kubectl:v") || strings.Count(tools, "\n") != 3 {
		t.Errorf("with the tools, it is\n%s", got)
	}
	s.repo = t.TempDir()
	if err := build.WriteFile(s.upstreamPins(), []byte("OTHER=docker.io/other:1@sha256:0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.published(); err == nil || err.Error() != "ci/pins.env names OTHER, for which dev/engine has no image" {
		t.Errorf("of a pin without an image: %v", err)
	}
}
