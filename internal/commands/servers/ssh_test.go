package servers

import (
	"errors"
	"testing"

	"slipway/internal/refusal"
	"slipway/internal/remote"
	"slipway/internal/run"
)

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
			r := &run.Run{Options: run.Options{Env: "test"}}
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
