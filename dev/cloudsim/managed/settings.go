package managed

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// superuser is the name of PostgreSQL's superuser, and of Debian's account for it. It has no
// password and connects only from within the container.
const superuser = "postgres"

// settingsFile is postgresql.conf. Nothing in it makes PostgreSQL less durable than it is by
// default.
func (s *server) settingsFile() string {
	var text strings.Builder
	for _, one := range [][2]string{
		{"listen_addresses", "*"},
		{"port", fmt.Sprint(s.cluster.Port)},
		{"unix_socket_directories", socketFolder},
		{"hba_file", filepath.Join(s.dir, "access.conf")},
		{"ssl", "on"},
		{"ssl_cert_file", filepath.Join(s.dir, "server.pem")},
		{"ssl_key_file", filepath.Join(s.dir, "server.key")},
		{"password_encryption", "scram-sha-256"},
		{"shared_preload_libraries", "timescaledb"},
		{"timescaledb.telemetry_level", "off"},
		{"timezone", "UTC"},
		{"log_timezone", "UTC"},
		{"wal_level", "logical"}, // as at OVH
	} {
		fmt.Fprintf(&text, "%s = %s\n", one[0], literal(one[1]))
	}
	// OVH also has settings of PostgreSQL itself; those of extensions are enough here, and an
	// invalid one does not keep PostgreSQL from starting.
	for _, name := range slices.Sorted(maps.Keys(s.cluster.Settings)) {
		if value := s.cluster.Settings[name]; settingName(name) && !strings.ContainsAny(value, "\n\\") {
			fmt.Fprintf(&text, "%s = %s\n", name, literal(value))
		}
	}
	return text.String()
}

// settingName reports whether name is that of an extension's setting.
func settingName(name string) bool {
	extension, setting, ok := strings.Cut(name, ".")
	return ok && extension != "" && setting != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == ""
}

// accessFile is pg_hba.conf: the networks of the restrictions, with TLS and a password, and nobody
// else.
func (s *server) accessFile() string {
	text := "local all " + superuser + " peer\n" +
		"host all " + superuser + " all reject\n"
	for _, network := range s.cluster.Sources {
		text += "hostssl all all " + network + " scram-sha-256\n"
	}
	return text
}

// literal is a value in a configuration file and a string in SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// identifier is a name in SQL.
func identifier(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
