//go:build blackbox

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"slipway/dev/cloudsim/ovh"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// A killer stands between the applies and the clouds. It lets a request that makes
// something take effect, and kills who asked before the answer arrives.
type killer struct {
	url string

	at *regexp.Regexp // paths of the requests that it strikes at

	mu   sync.Mutex
	skip int    // how many such requests pass before
	kill func() // nil: all pass
}

// makingPaths are of the requests that make something that is there afterwards: not those for
// a token or to act on a server.
var makingPaths = regexp.MustCompile(`/(servers|os-keypairs|networks|subnets|ports|security-groups|security-group-rules|postgresql|database|user)$`)

func newKiller(t *testing.T, to string) *killer {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{at: makingPaths}
	proxy := &httputil.ReverseProxy{
		// The host stays ours: the clouds name their services by it.
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost && r.StatusCode < 300 && k.at.MatchString(r.Request.URL.Path) {
				k.strike(r.Request)
			}
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	k.url = server.URL
	return k
}

// strike kills, and lets no answer through until the client is gone.
func (k *killer) strike(r *http.Request) {
	k.mu.Lock()
	kill := k.kill
	if k.skip--; k.skip >= 0 || kill == nil {
		k.mu.Unlock()
		return
	}
	k.mu.Unlock()
	kill()
	<-r.Context().Done()
}

// arm has the request after so many others be the one.
func (k *killer) arm(skip int, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.skip, k.kill = skip, kill
}

// inventory is what the clouds have, by kind and name; the same name twice is a
// duplicate.
func (s *system) inventory() []string {
	s.t.Helper()
	var all []string
	c := &cloud{t: s.t, url: s.url + "/-/openstack"}
	for kind, path := range map[string]string{
		"servers": "/compute/v2.1/servers/detail", "keypairs": "/compute/v2.1/os-keypairs", "networks": "/network/v2.0/networks", "subnets": "/network/v2.0/subnets",
		"ports": "/network/v2.0/ports", "security_groups": "/network/v2.0/security-groups", "security_group_rules": "/network/v2.0/security-group-rules",
	} {
		var answer map[string][]map[string]any
		if err := json.Unmarshal(c.call(http.MethodGet, path, "", http.StatusOK), &answer); err != nil {
			s.t.Fatal(err)
		}
		for _, one := range answer[kind] {
			name := fmt.Sprint(one["name"])
			if pair, ok := one["keypair"].(map[string]any); ok {
				name = fmt.Sprint(pair["name"])
			}
			if kind == "security_group_rules" {
				name = fmt.Sprint(one["security_group_id"], one["direction"], one["ethertype"], one["protocol"], one["port_range_min"], one["remote_ip_prefix"])
			}
			if kind == "subnets" {
				name += fmt.Sprint(one["network_id"], one["cidr"])
			}
			all = append(all, kind+" "+name)
		}
	}
	api := s.account()
	var list func(prefix, path, name string, more ...string)
	list = func(prefix, path, name string, more ...string) {
		var ids []json.RawMessage // of records they are numbers
		if err := api.Get(path, &ids); err != nil {
			s.t.Fatal(err)
		}
		for _, raw := range ids {
			id := strings.Trim(string(raw), `"`)
			var one map[string]any
			if err := api.Get(path+"/"+id, &one); err != nil {
				s.t.Fatal(err)
			}
			title := prefix + " " + fmt.Sprint(one[name])
			all = append(all, title)
			for _, kind := range more {
				list(title+" "+kind, path+"/"+id+"/"+kind, map[string]string{"user": "username", "database": "name"}[kind])
			}
		}
	}
	list("postgresql", clustersPath, "description", "user", "database")
	list("record", "/domain/zone/"+ovh.Zone+"/record", "target")
	slices.Sort(all)
	return all
}

// Wherever an apply of the whole of test is killed, also between the effect of a
// request and its answer, recover finds what was made, and the next apply goes on
// from there: nothing is in the clouds twice. SLIPWAY_KILLS is how often; each takes
// half a minute.
func TestBlackBoxSystemKilled(t *testing.T) {
	testkit.Deep(t, "it kills at random moments")
	kills := testkit.Kills(t, 5)
	s := newSystem(t)
	k := newKiller(t, s.url)
	for _, name := range []string{"OS_AUTH_URL", "OVH_ENDPOINT"} {
		s.secret[name] = strings.Replace(s.secret[name], s.url, k.url, 1)
	}
	s.seal()
	empty := s.inventory()
	s.run("bootstrap").must(t, run.Done)
	noneTwice := func(when string) {
		t.Helper()
		all := s.inventory()
		for i := range all[1:] {
			if all[i] == all[i+1] {
				t.Errorf("%s: there are two of %s", when, all[i])
			}
		}
	}
	killed, found := 0, 0
	for round := 0; killed < kills && round < 2*kills; round++ {
		var output bytes.Buffer
		cmd := s.start(s.options("apply"), &output)
		k.arm(round%3, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		k.arm(0, nil)
		if err == nil { // everything is created: start again from the beginning
			s.run("destroy", confirm).must(t, run.Done)
			if now := s.inventory(); !slices.Equal(now, empty) {
				t.Fatalf("after destroy there is %q", now)
			}
			continue
		}
		if cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the apply failed:\n%s", output.String())
		}
		killed++
		e := s.run("recover", dead).must(t, run.Done)
		for _, unknown := range []string{"check whether", "objects in the cloud match it", "but may be older", "delete one of them", "reported no ID"} {
			if strings.Contains(e.stdout, unknown) {
				t.Errorf("kill %d: it does not know:\n%s", killed, e.stdout)
			}
		}
		found += strings.Count(e.stdout, "and it exists in the cloud")
		noneTwice(fmt.Sprintf("kill %d", killed))
	}
	t.Logf("%d applies were killed, and %d of what was in flight was found in the clouds", killed, found)
	if killed < kills || found < kills/2 {
		t.Errorf("%d kills and %d found are too few to prove anything", killed, found)
	}
	s.run("apply").must(t, run.Done)
	s.run("plan").must(t, run.Done).says(t, "No changes")
	noneTwice("in the end")
	s.run("destroy", confirm).must(t, run.Done)
	if now := s.inventory(); !slices.Equal(now, empty) {
		t.Errorf("after destroy there is %q", now)
	}
}

// A server whose create was interrupted is imported. Its provider cannot read all its attributes,
// so the next apply recreates it: recover says so.
func TestBlackBoxSystemServerTakenIn(t *testing.T) {
	testkit.Deep(t, "it kills at random moments")
	s := newServer(t)
	empty := s.inventory()
	s.run("bootstrap").must(t, run.Done)
	k := newKiller(t, s.url)
	s.secret["OS_AUTH_URL"] = strings.Replace(s.secret["OS_AUTH_URL"], s.url, k.url, 1)
	s.seal()
	k.at = regexp.MustCompile(`/servers$`)
	cmd := s.start(s.options("apply"), io.Discard)
	k.arm(0, func() { _ = cmd.Process.Kill() })
	if err := cmd.Wait(); err == nil {
		t.Fatal("the apply was not killed")
	}
	k.arm(0, nil)
	const server = "module.backend.openstack_compute_instance_v2.host"
	s.run("recover", dead).must(t, run.Done).says(t, server+" was in flight (create), and it exists in the cloud", server+": the next apply replaces it, because an import does not read its ")
	s.run("plan").must(t, run.Changes).says(t, server)
	s.run("apply").must(t, run.Done)
	s.run("destroy", confirm).must(t, run.Done)
	if now := s.inventory(); !slices.Equal(now, empty) {
		t.Errorf("after destroy there is %q", now)
	}
}
