package plan

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"slipway/internal/redact"
)

// The table is well formed, and names nothing that is called as a secret is.
func TestTable(t *testing.T) {
	path := regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*!?$`)
	var types []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		types = append(types, fields[0])
		for i, field := range fields[1:] {
			if !path.MatchString(field) || slices.Contains(fields[:i+1], field) {
				t.Errorf("%s.%s is not a path, or is listed twice", fields[0], field)
			}
			for part := range strings.SplitSeq(strings.TrimSuffix(field, "!"), ".") {
				if redact.SecretName(part) {
					t.Errorf("%s.%s is a name for secrets", fields[0], field)
				}
			}
		}
	}
	slices.Sort(types)
	if len(types) < 40 || len(slices.Compact(slices.Clone(types))) != len(types) || len(builtIn()) != len(types) {
		t.Errorf("%d types, one of them twice: %q", len(types), types)
	}
}

// Additions do not remove anything, and only apply to their own type.
func TestAllowing(t *testing.T) {
	list := allowing([]string{"openstack_compute_instance_v2.metadata", "acme_thing.size.now"})
	for _, c := range []struct {
		kind, path string
		want       rule
	}{
		{"openstack_compute_instance_v2", "metadata", everything},
		{"openstack_compute_instance_v2", "flavor_name", everything},
		{"openstack_compute_instance_v2", "user_data", nothing},
		{"openstack_networking_port_v2", "metadata", nothing},
		{"acme_thing", "size.now", everything},
		{"acme_thing", "size", nothing},
		{"cloudflare_dns_record", "content", addresses},
	} {
		if got := list.of(c.kind)[c.path]; got != c.want {
			t.Errorf("%s.%s: got %d, want %d", c.kind, c.path, got, c.want)
		}
	}
	if builtIn()["openstack_compute_instance_v2"]["metadata"] != nothing {
		t.Error("the table itself has changed")
	}
	if r := list.of("acme_thing"); !r.has("size") || r.has("siz") {
		t.Error("a rule is of another attribute")
	}
}

// Of a record, only addresses are shown: what else it holds may prove who owns a domain.
func TestAddresses(t *testing.T) {
	record := func(before, after string) string {
		s, _, err := Read(strings.NewReader(document(`{"address":"x","type":"cloudflare_dns_record","change":{"actions":["update"],"before":{"content":"`+before+`"},"after":{"content":"`+after+`"}}}`, "")))
		if err != nil {
			t.Fatal(err)
		}
		return lines(s.Changes[0].Values)
	}
	if got := record("203.0.113.7", "2001:db8::7"); got != "content: 203.0.113.7 → 2001:db8::7\n" {
		t.Errorf("got %q", got)
	}
	if got := record("203.0.113.7", "verify=canary"); got != "" {
		t.Errorf("got %q", got)
	}
}
