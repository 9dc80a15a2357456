//go:build e2e

package e2e

import (
	"regexp"
	"strings"
	"testing"

	"slipway/internal/testkit"
)

// siteCredentials are what the playbook needs besides a checkout's own credentials.
func siteCredentials() map[string]string {
	return map[string]string{
		"ANSIBLE_VAR_broker_device_key": "canary-devices-Wk2-4Hn8Tz6Jd", "ANSIBLE_VAR_broker_verify_password": "canary-tracker-Yt5-9Vb2Qn7Wk", "ANSIBLE_VAR_broker_backend_password": "canary-backend-Rm3-8Zx6Lp1Dc",
	}
}

// TestUp takes environment local from nothing to a system that answers by HTTPS and stores positions.
func TestUp(t *testing.T) {
	newSite(t)
}

// TestSite shows the change of a template and nothing else, and loses no position in a power cut. The
// site's page can then be opened on this machine. TestMakeUp calls up twice.
func TestSite(t *testing.T) {
	testkit.Deep(t, "it deploys a whole site and cuts its power")
	c, up := newSite(t)
	c.change(t, "ansible/roles/base/templates/sshd.conf.j2", "\n", "\n# A comment of the test\n")
	check := c.call(t, "deploy", "--env=local", "--check").must(t).says(t, "+# A comment of the test")
	added := 0
	for line := range strings.Lines(check.stdout) {
		if regexp.MustCompile(`^ +[+-][^+-]`).MatchString(line) {
			added++
		}
	}
	if added != 1 {
		t.Errorf("%d lines are shown as changed:\n%s", added, check.stdout)
	}
	c.call(t, "verify", "--env=local").must(t).says(t, "reboot: passed: ", "acknowledged positions are in the database, each once; local-backend was away for")

	m, stop := c.openMachine(t)
	if got, want := m.page(t), `{"service":"positions","api":"/api/positions"}`; got != want {
		t.Errorf("https://local.example.org/ answers %q to this machine, not %q", got, want)
	}
	stop()

	for name, value := range siteCredentials() {
		if strings.Contains(up.stdout+up.stderr+check.stdout+check.stderr, value) {
			t.Errorf("%s is shown", name)
		}
	}
}

// newSite is a checkout whose environment is up, and the output of that.
func newSite(t *testing.T) (*checkout, result) {
	t.Helper()
	needOwnEngine(t)
	c := newCheckout(t)
	more := siteCredentials()
	more["SSH_PRIVATE_KEY"] = c.host
	c.seal(t, more)
	up := c.call(t, "up", "--env=local").must(t).says(t, "22 to create", "https: passed: https://local.example.org/ answers with 200", "flow: passed: 100 of 100 positions are in the database, each once")
	for _, row := range []string{`bootstrap +done`, `apply +22 changed`, `wait +up`, `deploy +[0-9]+ changed`, `verify +2 passed`} {
		if !regexp.MustCompile(`(?m)^` + row + ` +[0-9.]+ +-$`).MatchString(up.stdout) {
			t.Errorf("no row %q in\n%s", row, up.stdout)
		}
	}
	if !regexp.MustCompile(`"known_hosts":"[^"]* ssh-ed25519 AAAA[0-9A-Za-z+/]{64}"`).MatchString(up.stdout) {
		t.Errorf("the host's public key is not shown:\n%s", up.stdout)
	}
	return c, up
}
