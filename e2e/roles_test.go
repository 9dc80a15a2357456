//go:build e2e

package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ovh/go-ovh/ovh"

	"slipway/internal/testkit"
)

// playbookOf has the checkout deploy another playbook: that of a role's test, or site.
func (c *checkout) playbookOf(t *testing.T, role string) {
	t.Helper()
	file := "tests/" + role + ".yml"
	if role == "site.yml" {
		file = role
	}
	path := filepath.Join(c.dir, "environments/local/environment.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.file(t, path, regexp.MustCompile(`(?m)^deploy: .*$`).ReplaceAllString(string(text), "deploy: {playbook: "+file+"}"))
}

// TestRoles runs the test of one role after the other on a new server, in the order of site.yml: the
// role converges, changes nothing when it runs again, and is verified.
// Then an image cannot be pulled, and the database refuses the server.
func TestRoles(t *testing.T) {
	testkit.Deep(t, "it deploys a whole site")
	needOwnEngine(t)
	c := newCheckout(t)
	more := siteCredentials()
	more["SSH_PRIVATE_KEY"] = c.host
	c.seal(t, more)
	if err := os.CopyFS(filepath.Join(c.dir, "ansible/playbooks/tests"), os.DirFS(filepath.Join(repository, "ansible/tests"))); err != nil {
		t.Fatal(err)
	}
	// Docker may ask the registry of this machine by its own name too, which answers what it has not.
	c.change(t, groupVars, "\n# The server is a container", "docker_extra_settings: {insecure-registries: [\"registry:5000\"]}\n\n# The server is a container")
	c.call(t, "bootstrap", "--env=local").must(t)
	c.call(t, "apply", "--env=local").must(t)

	for _, role := range []string{"base", "docker", "database", "site", "powersync", "backend", "caddy", "broker"} {
		ok := t.Run(role, func(t *testing.T) {
			c.playbookOf(t, role)
			r := c.call(t, "deploy", "--env=local").must(t)
			before, verified, ok := strings.Cut(r.stderr, "play Verify")
			verified, _, _ = strings.Cut(verified, "play Take back what ")
			first, again, both := strings.Cut(before, "play Converge again …")
			const change = "local-backend: changed"
			if !ok || !both || !strings.Contains(first, change) || strings.Contains(again+verified, change) {
				t.Errorf("the role changes nothing, or something in its second run:\n%s", r.stderr)
			}
		})
		if !ok {
			t.FailNow() // the roles after it need it
		}
	}

	t.Run("an image that cannot be pulled", func(t *testing.T) {
		const good = `"{{ slipway_pins.BACKEND }}"`
		missing := "registry:5000/slipway/backend:1@sha256:" + strings.Repeat("0", 64)
		c.playbookOf(t, "backend")
		c.change(t, groupVars, good, missing)
		c.call(t, "deploy", "--env=local").refuses(t, "local-backend: failed in", "Error when processing backend-", "manifest for registry:5000/slipway/backend@sha256:0000", "manifest unknown",
			"1 of 1 host did not get to the end: local-backend is stopped in the task", "hint: dagger call deploy --env=local --limit=local-backend")
		c.change(t, groupVars, missing, good)
		// What runs goes on running, with the image that it has, even after the reboot before each call.
		c.call(t, "deploy", "--env=local", "--tags=verify").must(t)
	})
	t.Run("a database that refuses the server", func(t *testing.T) {
		c.playbookOf(t, "database")
		c.change(t, groupVars, "database_wait_retries: 20\ndatabase_wait_delay: 3", "database_wait_retries: 2\ndatabase_wait_delay: 1")
		c.closeDatabase(t)
		c.call(t, "deploy", "--env=local").refuses(t, "The database app at postgresql-", "did not accept avnadmin within 2 seconds", "no pg_hba.conf entry for host",
			"Check that it is running and that its IP restrictions contain the private network.", "hint: dagger call deploy --env=local --limit=local-backend")
	})
	// Both mistakes are undone: the first above, the second by OpenTofu.
	c.playbookOf(t, "site.yml")
	c.call(t, "up", "--env=local").must(t).says(t, "1 to update", "verify     2 passed")
}

const groupVars = "ansible/group_vars/local/main.yml"

// closeDatabase removes the network from which the database may be reached, outside of OpenTofu.
func (c *checkout) closeDatabase(t *testing.T) {
	t.Helper()
	c.withCloud(t, func(to *cloud) {
		client, err := ovh.NewClient(to.url+"/ovh", "key", "cloudsim-application-secret", "consumer")
		if err != nil {
			t.Fatal(err)
		}
		const databases = "/cloud/project/0123456789abcdef0123456789abcdef/database/postgresql"
		var ids []string
		if err := client.Get(databases, &ids); err != nil || len(ids) != 1 {
			t.Fatalf("%q, %v", ids, err)
		}
		if err := client.Delete(databases+"/"+ids[0]+"/ipRestriction/"+url.PathEscape("10.1.0.0/24"), nil); err != nil {
			t.Fatal(err)
		}
	})
}
