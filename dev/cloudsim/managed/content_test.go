package managed

import (
	"strings"
	"testing"

	"slipway/dev/cloudsim/ovh"
)

var (
	admin = ovh.Login{ID: "u1", Name: "avnadmin", Verifier: "SCRAM-SHA-256$1", Administrator: true}
	app   = ovh.Login{ID: "u2", Name: "app", Verifier: "SCRAM-SHA-256$2", Replication: true}
)

// text is the changes, a line each.
func text(k ovh.Instance, now listing) string {
	var lines []string
	for _, c := range changes(k, now) {
		lines = append(lines, c.database+": "+c.sql)
	}
	return strings.Join(lines, "\n")
}

func TestChanges(t *testing.T) {
	users := map[string]string{"avnadmin": markOf(admin), "app": markOf(app)}
	reset := app
	reset.Verifier = "SCRAM-SHA-256$3"
	for name, c := range map[string]struct {
		users           []ovh.Login
		databases       []ovh.Database
		roles, existing map[string]string
		want            string
	}{
		"everything is new": {
			users: []ovh.Login{admin, app}, databases: []ovh.Database{{ID: "d1", Name: "app"}},
			want: `postgres: BEGIN;CREATE ROLE "avnadmin";ALTER ROLE "avnadmin" WITH LOGIN CREATEROLE CREATEDB NOREPLICATION PASSWORD 'SCRAM-SHA-256$1'; COMMENT ON ROLE "avnadmin" IS '` + markOf(admin) + `'; COMMIT;
postgres: BEGIN;CREATE ROLE "app";ALTER ROLE "app" WITH LOGIN REPLICATION PASSWORD 'SCRAM-SHA-256$2'; COMMENT ON ROLE "app" IS '` + markOf(app) + `'; COMMIT;
postgres: CREATE DATABASE "app" OWNER "avnadmin"
postgres: ALTER DATABASE "app" OWNER TO "avnadmin"; COMMENT ON DATABASE "app" IS 'cloudsim d1'`,
		},
		"nothing has changed": {
			users: []ovh.Login{admin, app}, databases: []ovh.Database{{ID: "d1", Name: "app"}},
			roles: users, existing: map[string]string{"app": "cloudsim d1"},
		},
		"a password was reset": {
			users: []ovh.Login{admin, reset}, roles: users,
			want: `postgres: BEGIN;ALTER ROLE "app" WITH LOGIN REPLICATION PASSWORD 'SCRAM-SHA-256$3'; COMMENT ON ROLE "app" IS '` + markOf(reset) + `'; COMMIT;`,
		},
		"a power cut left a database without its comment": {
			users: []ovh.Login{admin}, databases: []ovh.Database{{ID: "d1", Name: "app"}},
			roles: map[string]string{"avnadmin": markOf(admin)}, existing: map[string]string{"app": ""},
			want: `postgres: ALTER DATABASE "app" OWNER TO "avnadmin"; COMMENT ON DATABASE "app" IS 'cloudsim d1'`,
		},
		"a user and a database were deleted": {
			users: []ovh.Login{admin}, databases: []ovh.Database{{ID: "d1", Name: "app"}},
			roles: users, existing: map[string]string{"app": "cloudsim d1", "old": "cloudsim d2"},
			want: `postgres: DROP DATABASE "old" WITH (FORCE)
postgres: ALTER ROLE "app" NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'
app: REASSIGN OWNED BY "app" TO "avnadmin"; DROP OWNED BY "app"
postgres: DROP ROLE "app"`,
		},
		"SQL created more": {
			users: []ovh.Login{admin}, roles: map[string]string{"avnadmin": markOf(admin), "own": "", `o"dd`: "not cloudsim"},
			existing: map[string]string{"own": "", "other": "of the application"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := text(ovh.Instance{Users: c.users, Databases: c.databases}, listing{c.roles, c.existing})
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A user without a password cannot log in, and none becomes a superuser.
func TestAttributes(t *testing.T) {
	if got := password(ovh.Login{}); got != "NULL" {
		t.Error(got)
	}
	for _, u := range []ovh.Login{admin, app} {
		if got := attributes(u); strings.Contains(got, "SUPERUSER") || strings.Contains(got, "BYPASSRLS") {
			t.Errorf("%s: %s", u.Name, got)
		}
	}
}

func TestQuotes(t *testing.T) {
	if got := literal(`it's`) + identifier(`a"b`); got != `'it''s'"a""b"` {
		t.Error(got)
	}
}
