package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
	"slipway/internal/testkit/bastion"
	"slipway/internal/tofu"
)

// The bastion is reached by the proxy, and the other hosts from the bastion.
func TestRoute(t *testing.T) {
	for name, c := range map[string]struct {
		ssh  *environment.SSH
		want string
	}{
		"directly":  {nil, "a b"},
		"a proxy":   {&environment.SSH{Proxy: "http://proxy:3128"}, "a<http://proxy:3128 b<http://proxy:3128"},
		"a bastion": {&environment.SSH{Jump: "b"}, "a<b b"},
		"the first": {&environment.SSH{Jump: "a"}, "a b<a"},
		"both":      {&environment.SSH{Proxy: "http://proxy:3128", Jump: "b"}, "a<b b<http://proxy:3128"},
	} {
		hosts := []remote.Host{{Name: "a"}, {Name: "b"}}
		must.Do(t, Route(&environment.Environment{Name: "prod", SSH: c.ssh}, hosts))
		var got []string
		for _, h := range hosts {
			text := h.Name
			if h.Jump != nil {
				text += "<" + h.Jump.Name
			}
			if h.Proxy != "" {
				text += "<" + h.Proxy
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
	e := &environment.Environment{Name: "prod", SSH: &environment.SSH{Jump: "gate"}}
	must.Refuse(t, Route(e, []remote.Host{{Name: "a"}, {Name: "b"}}), `ssh.jump is "gate", and the hosts of prod are a, b`, "$EDITOR environments/prod/environment.yaml")
	must.Do(t, Route(e, nil)) // nothing has been created yet
}

// A key that cannot be used is refused, and not quoted.
func TestPrivateKey(t *testing.T) {
	d := testkit.New(t)
	if key, err := PrivateKey(d.Run); key != nil || err != nil {
		t.Errorf("without one: %v, %v", key, err)
	}
	_, err := NeedPrivateKey(d.Run)
	must.Refuse(t, err, "the credentials of test have no SSH_PRIVATE_KEY, the SSH key for its hosts", "--variable=SSH_PRIVATE_KEY")
	const canary = "canary-of-a-key"
	d.Credentials = map[string]string{secrets.OperatorKey: "-----BEGIN " + canary + "-----\n" + canary + "\n-----END " + canary + "-----\n"}
	_, err = PrivateKey(d.Run)
	must.Refuse(t, err, "SSH_PRIVATE_KEY in the credentials of test is not a private key, or it has a passphrase", "dagger call secrets set --file=credentials/test.enc.env --variable=SSH_PRIVATE_KEY --value=env://VALUE")
	if strings.Contains(err.Error(), canary) {
		t.Errorf("it quotes the key: %v", err)
	}
	_, err = NeedPrivateKey(d.Run)
	must.Refuse(t, err, "is not a private key", "")
	must.Refuse(t, Await(t.Context(), d.Run, []remote.Host{{Name: "a"}}), "is not a private key", "")
	gate := bastion.New(t)
	d.Credentials[secrets.OperatorKey] = gate.PEM
	key, err := NeedPrivateKey(d.Run)
	must.Do(t, err)
	if !bytes.Equal(key.PublicKey().Marshal(), gate.Private.PublicKey().Marshal()) {
		t.Errorf("it is another key: %v", key.PublicKey())
	}
}

func TestOf(t *testing.T) {
	d := testkit.New(t)
	_, err := Of(d.Layer, tofu.Outputs{"ansible_inventory": {Value: json.RawMessage(`{"host": "192.0.2.1"}`)}})
	must.Refuse(t, err, "has no user", "$EDITOR environments/test")
}

// Without the key, or without hosts, it waits for none.
func TestAwaitNone(t *testing.T) {
	r, _, said := testkit.Quiet(t, run.Command{Name: "apply"})
	must.Do(t, Await(t.Context(), r, nil))
	if said.Len() > 0 {
		t.Errorf("it says %s", said)
	}
	must.Do(t, Await(t.Context(), r, []remote.Host{{Name: "a"}}))
	if !strings.Contains(said.String(), "note: not waiting for the hosts, because the credentials of prod have no SSH_PRIVATE_KEY") {
		t.Errorf("it says %s", said)
	}
	r.Credentials = map[string]string{secrets.OperatorKey: "no key"}
	must.Do(t, Await(t.Context(), r, nil))
}

// shortly makes the waits for a host end soon.
func shortly(t *testing.T) {
	t.Helper()
	boot, restart := remote.ForSSH, remote.ForRestart
	t.Cleanup(func() { remote.ForSSH, remote.ForRestart = boot, restart })
	remote.ForSSH.Attempts, remote.ForSSH.Every = 2, time.Millisecond
	remote.ForRestart.Attempts, remote.ForRestart.Every = 2, time.Millisecond
}

// A host is up when it lets the operator in and its first boot is over. One that is not says so.
func TestAwait(t *testing.T) {
	shortly(t)
	gate := bastion.New(t)
	gate.Host.BootMarker = "/var/lib/booted"
	gate.Run(func(command string) uint32 {
		if !strings.Contains(command, gate.Host.BootMarker) {
			t.Errorf("it runs %s", command)
		}
		return 0
	})
	r, _, said := testkit.Quiet(t, run.Command{Name: "apply"})
	r.Environment = &environment.Environment{Name: "prod"}
	r.Credentials = map[string]string{secrets.OperatorKey: gate.PEM}
	must.Do(t, Await(t.Context(), r, []remote.Host{gate.Host}))
	if text := r.Report.Masked(func(text string) string { return text }); text != "gate is up at 127.0.0.1\n" {
		t.Errorf("it reports %s", text)
	}
	r.Environment.SSH = &environment.SSH{Jump: "other"}
	must.Refuse(t, Await(t.Context(), r, []remote.Host{gate.Host}), `ssh.jump is "other"`, "")
	r.Environment.SSH = nil
	gate.Down(true)
	must.Fail(t, Await(t.Context(), r, []remote.Host{gate.Host}), "gate cannot be reached by SSH")
	if !strings.Contains(said.String(), "gate: no SSH at 127.0.0.1 yet (1 of 2)") {
		t.Errorf("it says %s", said)
	}
}

// Of hosts that were started, those are named that will not let the operator in, however long it waits.
func TestReach(t *testing.T) {
	shortly(t)
	up, down := bastion.New(t), bastion.New(t)
	down.Down(true)
	reach := func(change func(*bastion.Bastion)) error {
		t.Helper()
		other, second := bastion.New(t), bastion.New(t)
		change(other)
		change(second)
		hosts := []remote.Host{up.Host, down.Host, other.Host, second.Host}
		for i, name := range []string{"up", "down", "other", "second"} {
			hosts[i].Name = name
		}
		r, _, _ := testkit.Quiet(t, run.Command{Name: "start"})
		unreached := Reach(t.Context(), r, hosts, up.Private)
		if len(unreached) != 2 || unreached["other"] == nil || !errors.Is(unreached["second"], unreached["other"]) {
			t.Errorf("got %v", unreached)
		}
		return unreached["other"]
	}
	if err := reach(func(b *bastion.Bastion) { b.Replace(t) }); !errors.Is(err, remote.ErrOtherKey) {
		t.Errorf("with another host key: %v", err)
	}
	if err := reach(func(*bastion.Bastion) {}); !errors.Is(err, remote.ErrRefused) {
		t.Errorf("with the key of another operator: %v", err)
	}
}

// The bastion is a host of a layer, with the proxy that leads to it. Without one there is a refusal.
func TestBastion(t *testing.T) {
	e := &environment.Environment{Name: "prod", SSH: &environment.SSH{Proxy: "http://proxy:3128", Jump: "b"}}
	all := []remote.Host{{Name: "a"}, {Name: "b"}}
	b, err := Bastion(e, all)
	must.Do(t, err)
	if b.Name != "b" || b.Proxy != e.SSH.Proxy || b.Jump != nil || all[0].Jump != nil {
		t.Errorf("got %+v of %+v", b, all)
	}
	_, err = Bastion(e, nil)
	must.Refuse(t, err, `ssh.jump is "b", and environment prod has no hosts: no layer has an output ansible_inventory`, "dagger call apply --env=prod")
	_, err = Bastion(e, all[:1])
	must.Refuse(t, err, `ssh.jump is "b", and the hosts of prod are a`, "$EDITOR environments/prod/environment.yaml")
}
