package managed

import (
	"strings"
	"testing"

	"slipway/dev/cloudsim/ovh"
)

// Only the networks of the restrictions come in, with TLS and a password.
func TestAccessFile(t *testing.T) {
	s := server{cluster: ovh.Instance{Sources: []string{"10.1.0.0/24", "203.0.113.7/32"}}}
	if got := s.accessFile(); got != `local all postgres peer
host all postgres all reject
hostssl all all 10.1.0.0/24 scram-sha-256
hostssl all all 203.0.113.7/32 scram-sha-256
` {
		t.Error(got)
	}
	s.cluster.Sources = nil
	if got := s.accessFile(); strings.Contains(got, "hostssl") {
		t.Errorf("without a restriction: %s", got)
	}
}

// Settings of extensions are passed on, as data; what could be anything else is not, and nothing
// makes PostgreSQL less durable.
func TestSettingsFile(t *testing.T) {
	s := server{dir: "/services/x", cluster: ovh.Instance{Port: 20184, Settings: map[string]string{
		"timescaledb.max_background_workers": "8", "pg_stat_statements.track": "o'all", "fsync": "off", "a.b = 1\nfsync": "off", "a.b": "1'\nfsync = 'off", ".x": "1", "x.": "1",
	}}}
	got := s.settingsFile()
	for _, want := range []string{
		"port = '20184'\n", "ssl = 'on'\n", "shared_preload_libraries = 'timescaledb'\n", "hba_file = '/services/x/access.conf'\n",
		"timescaledb.max_background_workers = '8'\n", "pg_stat_statements.track = 'o''all'\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		name, _, _ := strings.Cut(line, " ")
		switch name {
		case "fsync", "full_page_writes", "synchronous_commit", "a.b", ".x", "x.":
			t.Errorf("it has %s", line)
		}
	}
}

func TestRouteRules(t *testing.T) {
	got := routeRules(20184, map[string]string{"10.87.0.6": "10.1.0.2", "10.87.0.5": "10.1.0.1"})
	if got != `*nat
:CLOUDSIM - [0:0]
-A CLOUDSIM -s 10.87.0.5/32 -p tcp --dport 20184 -j SNAT --to-source 10.1.0.1
-A CLOUDSIM -s 10.87.0.6/32 -p tcp --dport 20184 -j SNAT --to-source 10.1.0.2
COMMIT
` {
		t.Error(got)
	}
}
