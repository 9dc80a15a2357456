package hosts

import (
	"encoding/json"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
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
	must.Refuse(t, Await(t.Context(), d.Run, []remote.Host{{Name: "a"}}), "is not a private key", "")
}

func TestOf(t *testing.T) {
	d := testkit.New(t)
	_, err := Of(d.Layer, tofu.Outputs{"ansible_inventory": {Value: json.RawMessage(`{"host": "192.0.2.1"}`)}})
	must.Refuse(t, err, "has no user", "$EDITOR environments/test")
}

// Without the key, or without hosts, it waits for none.
func TestAwaitNone(t *testing.T) {
	d := testkit.New(t)
	must.Do(t, Await(t.Context(), d.Run, nil))
	must.Do(t, Await(t.Context(), d.Run, []remote.Host{{Name: "a"}}))
	d.Credentials = map[string]string{secrets.OperatorKey: "no key"}
	must.Do(t, Await(t.Context(), d.Run, nil))
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
