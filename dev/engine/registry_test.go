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
