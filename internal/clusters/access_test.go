package clusters_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/rollout"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/talos"
	"slipway/internal/testkit"
	"slipway/internal/testkit/bastion"
	"slipway/internal/testkit/machines"
	"slipway/internal/tofu"
)

// behind puts the cluster behind a bastion, which counts the connections that it opens.
func (s *site) behind(t *testing.T) (b *bastion.Bastion, opened *atomic.Int32) {
	t.Helper()
	b, opened = bastion.New(t), &atomic.Int32{}
	b.ConnectBy(func(address string) (net.Conn, error) {
		opened.Add(1)
		return net.Dial("tcp", address)
	})
	s.desk.Environment.SSH = &environment.SSH{Jump: "gate"}
	s.desk.Credentials[secrets.OperatorKey] = b.PEM
	return b, opened
}

// open is the cluster as a command opens it that has asked a layer with these outputs.
func (s *site) open(t *testing.T, outputs tofu.Outputs) *clusters.Cluster {
	t.Helper()
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle, Listed: true}
	if c.NeedsLayers() {
		must.Do(t, c.Add(s.desk.Layer, outputs))
		must.Do(t, c.Complete())
	}
	return c
}

// through makes a rollout through a bastion.
func (s *site) through(t *testing.T, b *bastion.Bastion) *clusters.Rollout {
	t.Helper()
	s.desk.ID += "+"
	o, err := clusters.NewRollout(t.Context(), s.open(t, b.Outputs(t)), every...)
	must.Do(t, err)
	return o
}

// A cluster behind a bastion is made through it, by one login. If the tunnel is cut at a call, whether that reached the
// node or not, the rollout opens it again and ends in the same place, with one etcd.
func TestRolloutTunnelCut(t *testing.T) {
	for name, c := range map[string]struct {
		method  string // empty: nothing is cut
		reached bool
	}{
		"never":                 {"", false},
		"after a configuration": {"/ApplyConfiguration", true},
		"before etcd begins":    {"/Bootstrap", false},
		"after etcd has begun":  {"/Bootstrap", true},
		"while a node is asked": {"/Version", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 3, "v1.14.1")
			b, opened := s.behind(t)
			var once sync.Once
			cut := func(_, method string) (err error) {
				if c.method != "" && strings.HasSuffix(method, c.method) {
					once.Do(func() {
						b.Cut()
						err = status.Error(codes.Unavailable, "nobody hears it")
					})
				}
				return err
			}
			s.Sim.Calls = cut
			if c.reached {
				s.Sim.Calls, s.Sim.Answers = nil, cut
			}
			must.Do(t, s.through(t, b).Do(t.Context()))
			logins := 2
			if c.method == "" {
				logins = 1
			}
			if n := b.Logins(); n != logins {
				t.Errorf("%d logins, not %d", n, logins)
			}
			s.desk.Result.Nodes = nil
			o := s.through(t, b)
			must.Do(t, o.Do(t.Context()))
			if len(o.Result.Nodes) > 0 {
				t.Errorf("again: %+v", o.Result.Nodes)
			}
			if opened.Load() == 0 {
				t.Error("nothing goes through the bastion")
			}
			s.asWanted(t)
		})
	}
}

// Why a node does not answer is told apart: the bastion, or the node behind it.
func TestObserveBehind(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	var cut atomic.Pointer[bastion.Bastion]
	s.Sim.Calls = func(_, method string) error {
		if b := cut.Load(); b != nil && strings.HasSuffix(method, "/Version") {
			b.Cut()
			<-t.Context().Done()
		}
		return nil
	}
	must.Do(t, s.roll(every...).Do(t.Context()))
	b, _ := s.behind(t)
	w := net.JoinHostPort(s.Node("w").Address, "50000")
	b.ConnectBy(func(address string) (net.Conn, error) {
		if address == w {
			return nil, net.ErrClosed
		}
		return net.Dial("tcp", address)
	})
	c := s.open(t, b.Outputs(t))
	access, err := c.Access(t.Context())
	must.Do(t, err)
	seen, err := c.Observe(t.Context(), access)
	must.Do(t, err)
	if o := seen.Nodes["a"]; o.API != rollout.Configured || o.Why != "" {
		t.Errorf("a: %+v", o)
	}
	if o := seen.Nodes["w"]; o.API != rollout.Silent || o.Why != "it cannot be reached from the bastion gate" {
		t.Errorf("w: %+v", o)
	}
	cut.Store(b)
	seen, err = c.Observe(t.Context(), access)
	must.Do(t, err)
	if o := seen.Nodes["a"]; o.API != rollout.Silent || o.Why != "the connection to the bastion gate broke" {
		t.Errorf("a, cut: %+v", o)
	}
	cut.Store(nil)

	b.Down(true)
	b.Cut()
	s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
	o := s.through(t, b)
	o.Patience = time.Millisecond
	must.Fail(t, o.Do(t.Context()), "nothing has changed for 1ms: a does not answer", "(the bastion gate cannot be reached)")
}

// A bastion that is another host now, or does not know the operator any more, is refused at once, and no node is
// changed.
func TestRolloutOtherBastion(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(*testing.T, *bastion.Bastion)
		message, hint string
	}{
		"another host key": {func(t *testing.T, b *bastion.Bastion) { b.Replace(t) }, "the bastion gate: " + remote.ErrOtherKey.Error(), "dagger call output --env=test"},
		"another operator": {func(_ *testing.T, b *bastion.Bastion) { b.Forget() }, "the bastion gate: " + remote.ErrRefused.Error(), "--variable=SSH_PRIVATE_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 1, "v1.14.1")
			b, _ := s.behind(t)
			outputs := b.Outputs(t)
			c.change(t, b)
			s.desk.ID += "+"
			o, err := clusters.NewRollout(t.Context(), s.open(t, outputs), every...)
			must.Do(t, err)
			must.Refuse(t, o.Do(t.Context()), c.message, c.hint)
			if s.Machine("a").Config() != nil || len(o.Result.Nodes) > 0 || s.desk.LockID() != "" {
				t.Errorf("it was begun: %+v", o.Result.Nodes)
			}
			if _, err := s.desk.Store.Read(t.Context(), "test/cluster.json"); !errors.Is(err, state.ErrNone) {
				t.Errorf("it is on record: %v", err)
			}
			p := s.open(t, outputs)
			_, err = p.Plan(t.Context())
			must.Refuse(t, err, c.message, c.hint)
		})
	}
}

// Without the way to the bastion, a rollout is refused before anything is asked, and a plan does without the nodes.
func TestAccessRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(*site)
		outputs       func(tofu.Outputs)
		message, hint string
	}{
		"no key": {func(s *site) { delete(s.desk.Credentials, secrets.OperatorKey) }, nil,
			"the credentials of test have no SSH_PRIVATE_KEY, the SSH key for its hosts", "--variable=SSH_PRIVATE_KEY"},
		"no private key": {func(s *site) { s.desk.Credentials[secrets.OperatorKey] = "canary" }, nil,
			"SSH_PRIVATE_KEY in the credentials of test is not a private key", "--variable=SSH_PRIVATE_KEY"},
		"no hosts": {nil, func(o tofu.Outputs) { clear(o) }, `ssh.jump is "gate", and environment test has no hosts: no layer has an output ansible_inventory`, "dagger call apply --env=test"},
		"another host": {func(s *site) { s.desk.Environment.SSH.Jump = "door" }, nil,
			`ssh.jump is "door", and the hosts of test are gate`, "$EDITOR environments/test/environment.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 1, "v1.14.1")
			b, opened := s.behind(t)
			outputs := b.Outputs(t)
			if c.change != nil {
				c.change(s)
			}
			if c.outputs != nil {
				c.outputs(outputs)
			}
			_, err := clusters.NewRollout(t.Context(), s.open(t, outputs), every...)
			must.Refuse(t, err, c.message, c.hint)
			p, err := s.open(t, outputs).Plan(t.Context())
			must.Do(t, err)
			if len(p.Nodes) != 2 || !p.Nodes[0].First || p.Source != "a, w could not be asked: no apply is on record" {
				t.Errorf("the plan is %+v", p)
			}
			if says := fmt.Sprint(s.desk.Stderr); !strings.Contains(says, "note: the nodes are not asked: ") {
				t.Errorf("it says %q", says)
			}
			if opened.Load() > 0 || b.Attempts() > 0 {
				t.Error("it asks")
			}
		})
	}
	s := newSite(t, 1, "v1.14.1")
	s.behind(t)
	delete(s.desk.Credentials, secrets.OperatorKey)
	must.Refuse(t, s.open(t, nil).Check(), "the credentials of test have no SSH_PRIVATE_KEY", "--variable=SSH_PRIVATE_KEY")
}

// A host whose key is not known is not the bastion.
func TestUnknownBastion(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.behind(t)
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle, Listed: true}
	outputs := tofu.Outputs{"ansible_inventory": {Value: json.RawMessage(`{"gate": {"host": "192.0.2.1", "user": "debian", "known_hosts": "192.0.2.2 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4mvDc2K7t3DQmfCLzVOQIyXn5aZmtYpHqYk8Zl0b1C"}}`)}}
	must.Refuse(t, c.Add(s.desk.Layer, outputs), "gate: known_hosts: ", "$EDITOR environments/test")
}

// Nodes that cluster.yaml lists are not listed again by a layer, which is asked for the bastion only.
func TestAddListed(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	b, _ := s.behind(t)
	outputs := b.Outputs(t)
	outputs[cluster.NodesOutput] = tofu.Output{Value: json.RawMessage(`"not a list"`)}
	c := s.open(t, outputs)
	access, err := c.Access(t.Context())
	if err != nil || len(c.Spec.Nodes) != 2 {
		t.Errorf("%v, %+v", err, c.Spec.Nodes)
	}
	if again, err := c.Access(t.Context()); err != nil || again != access {
		t.Errorf("the second time: %v, another access", err)
	}
	c.Listed = false
	must.Refuse(t, c.Add(s.desk.Layer, outputs), "talos_nodes", "")
}

// The layers are asked for nodes, and for a bastion by who can ask the nodes.
func TestNeedsLayers(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	for name, c := range map[string]struct{ listed, jumps, secrets, want bool }{
		"nodes of layers":         {false, false, true, true},
		"without the secrets":     {false, false, false, true},
		"listed":                  {true, false, true, false},
		"behind a bastion":        {true, true, true, true},
		"behind, without secrets": {true, true, false, false},
	} {
		s.desk.Environment.SSH = &environment.SSH{Proxy: "http://proxy.example.org:3128"}
		if c.jumps {
			s.desk.Environment.SSH.Jump = "gate"
		}
		opened := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Listed: c.listed}
		if c.secrets {
			opened.Secrets = s.Bundle
		}
		if opened.NeedsLayers() != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}

// The bastion of nodes that cluster.yaml lists is found with the layers. Without a bastion they are not asked.
func TestReach(t *testing.T) {
	testkit.WithoutTofu(t)
	m, v := machines.New(t, 1, "v1.14.1"), testkit.NewVault(t)
	_, _, err := clusters.Reach(t.Context(), v.Run)
	must.Refuse(t, err, "environment test has no cluster", "$EDITOR environments/test/cluster.yaml")
	v.Write(cluster.Path("test"), "name: home\ntalos: v1.14.1\nkubernetes: v1.35.0\nendpoint: https://10.0.0.10:6443\nnodes: [{name: a, address: 10.0.0.11, role: controlplane, disk: /dev/sda}]\n")
	plain, err := talos.WriteSecrets(m.Bundle)
	must.Do(t, err)
	sealed, err := secrets.SealDocument(cluster.SecretsFile("test"), plain, []string{v.AgeKey.Recipient().String()})
	must.Do(t, err)
	v.Write(cluster.SecretsFile("test"), string(sealed))
	for line, direct := range map[string]bool{"description: none": true, "ssh: {proxy: \"http://proxy.example.org:3128\"}": true, "ssh: {jump: gate}": false} {
		v.Describe("credentials: [test]", v.InBucket(), line)
		must.Do(t, v.OpenCredentials())
		v.Work = t.TempDir()
		c, access, err := clusters.Reach(t.Context(), v.Run)
		if !direct {
			must.NotStarted(t, err, "init")
			_, err = clusters.Open(t.Context(), v.Run)
			must.Do(t, err)
		} else if err != nil || c == nil || access == nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Nodes are reached through an HTTP proxy, by their addresses.
func TestRolloutProxy(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	var asked sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method+" "+r.Host, true)
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, "canary", http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		_, _ = here.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		go func() { _, _ = here.(*net.TCPConn).ReadFrom(there); _ = here.Close() }()
		_, _ = there.(*net.TCPConn).ReadFrom(here)
	}))
	t.Cleanup(proxy.Close)
	s.desk.Environment.SSH = &environment.SSH{Proxy: proxy.URL}
	must.Do(t, s.roll(every...).Do(t.Context()))
	for _, n := range s.Spec.Nodes {
		if _, is := asked.Load("CONNECT " + net.JoinHostPort(n.Address, "50000")); !is {
			t.Errorf("%s was reached without the proxy", n.Name)
		}
	}
	proxy.CloseClientConnections()
	proxy.Close()
	o := s.roll(every...)
	o.Patience = time.Millisecond
	err := o.Do(t.Context())
	must.Fail(t, err, "nothing has changed for 1ms: a does not answer", "(it cannot be reached)")
	if fault.Is(err, fault.Refused) {
		t.Error("a proxy that is down is refused")
	}
	s.desk.Environment.SSH = nil
	s.asWanted(t)
}
