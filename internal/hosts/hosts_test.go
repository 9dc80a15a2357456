package hosts

import (
	"encoding/json"
	"strings"
	"testing"

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
