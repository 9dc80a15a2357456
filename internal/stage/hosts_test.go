package stage

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"slipway/internal/refusal"
	"slipway/internal/remote"
	"slipway/internal/tofu"
)

// An output says one host, or several by name, or none.
func TestHostsIn(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"one":         {`{"host": "192.0.2.1", "user": "debian", "port": 22, "known_hosts": "x", "groups": ["test"]}`, "test=192.0.2.1"},
		"several":     {`{"web": {"host": "192.0.2.2"}, "db": {"host": "192.0.2.1"}}`, "db=192.0.2.1 web=192.0.2.2"},
		"none yet":    {`null`, ""},
		"no address":  {`{"web": {"user": "debian"}}`, "error: the output ansible_inventory of test has no address for web"},
		"other":       {`"192.0.2.1"`, "error: the output ansible_inventory of test is neither one host nor a map of hosts by name"},
		"none at all": {`{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hosts, err := hostsIn("test", tofu.Outputs{"ansible_inventory": {Value: json.RawMessage(c.value)}})
			var got []string
			for _, h := range hosts {
				got = append(got, h.Name+"="+h.Address)
			}
			text := strings.Join(got, " ")
			if err != nil {
				text = "error: " + err.Error()
			}
			if text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
	if hosts, err := hostsIn("test", nil); err != nil || hosts != nil {
		t.Error(hosts, err)
	}
}

// The one host is meant, and of several the one that is named.
func TestChosen(t *testing.T) {
	several := []remote.Host{{Name: "db", Address: "192.0.2.1"}, {Name: "web", Address: "192.0.2.2"}}
	for name, c := range map[string]struct {
		count int
		host  string
		want  string
	}{
		"the only one":       {1, "", "db"},
		"by name":            {2, "web", "web"},
		"several":            {2, "", "environment test has several hosts: db, web"},
		"a name that is not": {2, "wbe", `environment test has no host "wbe"; its hosts are db, web`},
		"none":               {0, "", "environment test has no hosts: no layer has an output ansible_inventory"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Run{Options: Options{Env: "test"}}
			h, err := choose(r, several[:c.count], c.host)
			got := h.Name
			var refused *refusal.Error
			if errors.As(err, &refused) {
				got = refused.Message
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
