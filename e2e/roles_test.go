//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
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

// TestRoles converges one role after the other on a new server, in the order of site.yml. Each time,
// the role's test finds nothing to change in a second run, and verifies what the first one did.
// Then an image cannot be pulled, and the database refuses the server.
func TestRoles(t *testing.T) {
	c := newCheckout(t)
	more := siteCredentials()
	more["SSH_PRIVATE_KEY"] = c.host
	c.seal(t, more)
	if err := os.CopyFS(filepath.Join(c.dir, "ansible/playbooks/tests"), os.DirFS(filepath.Join(repository, "ansible/tests"))); err != nil {
		t.Fatal(err)
	}
	c.call(t, "bootstrap", "--env=local").must(t)
	c.call(t, "apply", "--env=local").must(t)

	for _, role := range []string{"base", "docker", "database", "site", "powersync", "backend", "caddy", "broker"} {
		ok := t.Run(role, func(t *testing.T) {
			c.playbookOf(t, role)
			changed := c.call(t, "deploy", "--env=local", "--tags=converge").must(t)
			if !regexp.MustCompile(`(?m)^local-backend +changed `).MatchString(changed.stdout) {
				t.Errorf("the role changes nothing:\n%s", changed.stdout)
			}
			again := c.call(t, "deploy", "--env=local", "--tags=converge,verify").must(t)
			if !regexp.MustCompile(`(?m)^local-backend +ok +[0-9]+ +0 +0 +0$`).MatchString(again.stdout) {
				t.Errorf("the role changes something again:\n%s\n%s", again.stdout, again.stderr)
			}
		})
		if !ok {
			t.FailNow() // the roles after it need it
		}
	}
}
