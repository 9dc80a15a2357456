package managed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway/dev/cloudsim/ovh"
)

// What the API created has a comment that begins with mark, so that what was created with SQL is
// left alone.
const mark = "cloudsim "

// A listing is what a PostgreSQL has: comments by names.
type listing struct{ roles, databases map[string]string }

// applyContent makes the users and databases of PostgreSQL agree with the API's.
func (s *server) applyContent(ctx context.Context) error {
	data, err := json.Marshal([]any{s.cluster.Users, s.cluster.Databases})
	if err != nil || string(data) == s.content {
		return err
	}
	now, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, one := range changes(s.cluster, now) {
		if _, err := s.query(ctx, one.database, one.sql); err != nil {
			return err
		}
	}
	s.content = string(data)
	return nil
}

// list asks PostgreSQL what there is beside its own.
func (s *server) list(ctx context.Context) (now listing, err error) {
	ask := func(sql string) (map[string]string, error) {
		text, err := s.query(ctx, superuser, sql)
		found := map[string]string{}
		for line := range strings.Lines(text) {
			name, comment, _ := strings.Cut(strings.TrimSuffix(line, "\n"), unit)
			found[name] = comment
		}
		return found, err
	}
	const own = "16384" // the first number that is given to anything else
	now.roles, err = ask("SELECT rolname, shobj_description(oid, 'pg_authid') FROM pg_roles WHERE oid >= " + own)
	if err != nil {
		return now, err
	}
	now.databases, err = ask("SELECT datname, shobj_description(oid, 'pg_database') FROM pg_database WHERE oid >= " + own)
	return now, err
}

// A change is SQL to run in a database.
type change struct{ database, sql string }

// changes returns what has to be done, in this order. If a power cut interrupts it, it is found
// out again from what is there.
func changes(k ovh.Instance, now listing) (list []change) {
	add := func(database, format string, values ...any) {
		list = append(list, change{database, fmt.Sprintf(format, values...)})
	}
	wanted := map[string]bool{}
	owner := superuser
	for _, u := range k.Users {
		wanted[u.Name] = true
		if u.Administrator {
			owner = u.Name
		}
		comment := markOf(u)
		if now.roles[u.Name] == comment {
			continue
		}
		sql := "BEGIN;"
		if _, there := now.roles[u.Name]; !there {
			sql += "CREATE ROLE " + identifier(u.Name) + ";"
		}
		add(superuser, "%sALTER ROLE %s WITH %s PASSWORD %s; COMMENT ON ROLE %[2]s IS %[5]s; COMMIT;",
			sql, identifier(u.Name), attributes(u), password(u), literal(comment))
	}
	exists := map[string]bool{}
	for _, d := range k.Databases {
		exists[d.Name] = true
		comment := mark + d.ID
		if now.databases[d.Name] == comment {
			continue
		}
		// It cannot be created in a transaction, so it may be there without its comment.
		if _, there := now.databases[d.Name]; !there {
			add(superuser, "CREATE DATABASE %s OWNER %s", identifier(d.Name), identifier(owner))
		}
		add(superuser, "ALTER DATABASE %s OWNER TO %s; COMMENT ON DATABASE %[1]s IS %[3]s", identifier(d.Name), identifier(owner), literal(comment))
	}
	for _, name := range slices.Sorted(maps.Keys(now.databases)) {
		if !exists[name] && strings.HasPrefix(now.databases[name], mark) {
			add(superuser, "DROP DATABASE %s WITH (FORCE)", identifier(name))
			delete(now.databases, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.roles)) {
		if wanted[name] || !strings.HasPrefix(now.roles[name], mark) {
			continue
		}
		add(superuser, "ALTER ROLE %s NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", identifier(name), literal(name))
		for _, database := range slices.Sorted(maps.Keys(now.databases)) {
			add(database, "REASSIGN OWNED BY %s TO %s; DROP OWNED BY %[1]s", identifier(name), identifier(owner))
		}
		add(superuser, "DROP ROLE %s", identifier(name))
	}
	return list
}

// markOf is a user's comment. It changes with what the API can change, so a password that was set
// with SQL stays until it is reset.
func markOf(u ovh.Login) string {
	sum := sha256.Sum256([]byte(attributes(u) + password(u)))
	return mark + u.ID + " " + hex.EncodeToString(sum[:8])
}

func attributes(u ovh.Login) string {
	text := "LOGIN"
	if u.Administrator {
		text += " CREATEROLE CREATEDB"
	}
	if u.Replication {
		return text + " REPLICATION"
	}
	return text + " NOREPLICATION"
}

// password is never a plain one.
func password(u ovh.Login) string {
	if u.Verifier == "" {
		return "NULL"
	}
	return literal(u.Verifier)
}
