package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	client "github.com/ovh/go-ovh/ovh"

	"slipway/dev/cloudsim/acme"
	"slipway/dev/cloudsim/machine"
	"slipway/dev/cloudsim/managed"
	"slipway/internal/testkit/soon"
)

// get returns what is at url.
func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, response.Status, err)
	}
	return string(text)
}

// The whole program answers by DNS what its clouds have: a database has the address of the player
// that asked for it, a zone's name what was published last.
func TestNames(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done, data := make(chan error, 1), t.TempDir()
	type addresses struct{ at, names string }
	serving := make(chan addresses, 1)
	go func() {
		done <- serve(ctx, data, "127.0.0.1:0", "127.0.0.1:0", func(at, names string) { serving <- addresses{at, names} })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	listening := <-serving
	url, names := "http://"+listening.at, listening.names
	ask := func(name string) (rcode int, address string) {
		t.Helper()
		question := new(dns.Msg)
		question.SetQuestion(name+".", dns.TypeA)
		answer, _, err := (&dns.Client{Timeout: 5 * time.Second}).Exchange(question, names)
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range answer.Answer {
			if a, ok := record.(*dns.A); ok {
				address = a.A.String()
			}
		}
		return answer.Rcode, address
	}
	if code, _ := ask(acme.Domain); code != dns.RcodeServerFailure {
		t.Errorf("before there is a player: %s", dns.RcodeToString[code])
	}
	get(t, url+managed.Path+"one")
	if _, at := ask(acme.Domain); at != "127.0.0.1" {
		t.Errorf("the ACME server is at %q", at)
	}

	databases, err := client.NewClient(url+"/-/ovh", "application", "cloudsim-application-secret", "consumer")
	if err != nil {
		t.Fatal(err)
	}
	if err := databases.Post("/cloud/project/slipway/database/postgresql", map[string]any{
		"version": "17", "plan": "essential", "nodesPattern": map[string]any{"flavor": "db1-4", "number": 1, "region": "SIM"}}, nil); err != nil {
		t.Fatal(err)
	}
	domain := ""
	soon.Wait(t, "the cluster has a domain", func() bool {
		_, rest, found := strings.Cut(get(t, url+managed.Path+"one"), `"domain":"`)
		domain, _, _ = strings.Cut(rest, `"`)
		return found
	})
	if _, at := ask(domain); at != "127.0.0.1" {
		t.Errorf("%s is at %q", domain, at)
	}
	for _, name := range []string{"", "www"} {
		if err := databases.Post("/domain/zone/example.org/record", map[string]any{"fieldType": "A", "subDomain": name, "target": "192.0.2.1"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if code, _ := ask("www.example.org"); code != dns.RcodeNameError {
		t.Errorf("before a refresh: %s", dns.RcodeToString[code])
	}
	if err := databases.Post("/domain/zone/example.org/refresh", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"example.org", "www.example.org"} {
		if _, at := ask(name); at != "192.0.2.1" {
			t.Errorf("%s is at %q", name, at)
		}
	}
	if text := get(t, url+acme.BundlePath); text != "" {
		t.Errorf("the bundle is %q", text)
	}
}

// A machine's connections have the address that its server has in the network.
func TestSources(t *testing.T) {
	rack, err := machine.NewRack(filepath.Join(t.TempDir(), "machines.json"), func() ([]machine.Server, error) {
		return []machine.Server{{
			ID: "a", Addresses: []string{"203.0.113.2", "2001:db8::2", "10.1.0.1"}, Public: "203.0.113.2",
			Networks: map[string][]string{"ext": {"203.0.113.2", "2001:db8::2"}, "private": {"10.1.0.1"}},
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(network string, want map[string]string) {
		t.Helper()
		if got, err := sources(rack)(network); err != nil || !maps.Equal(got, want) {
			t.Errorf("network %q: %v, %v", network, got, err)
		}
	}
	expect("private", map[string]string{})
	server := httptest.NewServer(rack)
	t.Cleanup(server.Close)
	get(t, server.URL+machine.Path+"one")
	expect("private", map[string]string{"127.0.0.1": "10.1.0.1"})
	expect("", map[string]string{"127.0.0.1": "203.0.113.2"})
	expect("another", map[string]string{})
	for address, want := range map[string]string{"203.0.113.2": "127.0.0.1", "2001:db8::2": "127.0.0.1", "203.0.113.3": ""} {
		if got, err := playerOf(rack, address); err != nil || got != want {
			t.Errorf("%s is played at %q, %v", address, got, err)
		}
	}
}
