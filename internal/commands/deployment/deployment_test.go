package deployment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/machines"
	"slipway/internal/must"
	"slipway/internal/playbook"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

func withChecks(t *testing.T) *run.Run {
	t.Helper()
	d := testkit.New(t)
	d.Result.Stage = "verify"
	d.Environment.Verify = &environment.Verify{HTTPS: &environment.HTTPSCheck{URL: "https://192.0.2.1"}, Reboot: &environment.RebootCheck{Host: "test-web"}}
	return d.Run
}

// Without a choice, all that environment.yaml names are run, and otherwise those chosen of them.
func TestChosen(t *testing.T) {
	for only, want := range map[string][]string{"": {"https", "reboot"}, "https": {"https"}, "reboot,https": {"reboot", "https"}} {
		if got, err := chosen(withChecks(t), only); err != nil || !slices.Equal(got, want) {
			t.Errorf("of %q: %q, %v", only, got, err)
		}
	}
	_, err := chosen(withChecks(t), "https,flow")
	must.Refuse(t, err, `environment test has no check "flow"; it has https, reboot`, "dagger call verify --env=test --only=https")
	r := withChecks(t)
	r.Environment.Verify = nil
	_, err = chosen(r, "")
	must.Refuse(t, err, "environment test has no checks", "$EDITOR environments/test/environment.yaml")
}

// The power of a protected environment's host is cut only if its name is given. Nothing is asked before.
func TestRebootIsConfirmed(t *testing.T) {
	r := withChecks(t)
	r.Environment.Protected = true
	for confirm, want := range map[string]string{
		"":     "environment test is protected, and the check reboot cuts the power of test-web",
		"prod": `--confirm is "prod", not the environment's name, test`,
	} {
		must.Refuse(t, verifySystem(t.Context(), r, "", confirm), want, "dagger call verify --env=test --confirm=test")
		must.Refuse(t, verifySystem(t.Context(), r, "reboot", confirm), want, "--confirm=test")
	}
	if len(r.Result.Checks) > 0 {
		t.Errorf("it has checked %+v", r.Result.Checks)
	}
	// Whoever asks for the others needs no confirmation, and neither does an environment that is not protected.
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := verifySystem(stopped, r, "https", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r = withChecks(t)
	if err := verifySystem(stopped, r, "", ""); err == nil || strings.Contains(err.Error(), "protected") {
		t.Errorf("got %v", err)
	}
}

// No power is cut while somebody works on the hosts, or if the servers are not known. That does not matter to the
// other checks.
func TestRebootIsAlone(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.WithCode("")
	r := d.Opened()
	r.Environment.Verify = &environment.Verify{Roots: "gone.pem", HTTPS: &environment.HTTPSCheck{URL: "https://192.0.2.1"}, Reboot: &environment.RebootCheck{Host: "test-web"}}
	must.NotStarted(t, verifySystem(t.Context(), r, "reboot", ""), "init")
	d.Key = hold.Hosts(r).Key
	d.Other(journal.Header{ID: "you", Stage: "deploy"})
	must.Refuse(t, verifySystem(t.Context(), r, "reboot", ""), "the hosts of test are in use by run you (deploy", "dagger call unlock --env=test")
	must.Fail(t, verifySystem(t.Context(), r, "https", ""), "1 of 1 checks failed: https")
}

// It is the server of that name whose power is cut, or none.
func TestToReboot(t *testing.T) {
	r := withChecks(t)
	servers := []machines.Machine{{Name: "test-db", ID: "1"}, {Name: "test-web", ID: "2"}}
	if server, err := toReboot(r, servers); err != nil || server.ID != "2" {
		t.Errorf("got %+v, %v", server, err)
	}
	r.Environment.Verify.Reboot.Host = "test"
	_, err := toReboot(r, servers)
	must.Refuse(t, err, `verify.reboot.host is "test", want the name of one server; the OpenStack servers of test are ["test-db" "test-web"]`, "$EDITOR environments/test/environment.yaml")
	r.Environment.Verify.Reboot.Host = "test-web"
	_, err = toReboot(r, append(servers, servers...))
	must.Refuse(t, err, `verify.reboot.host is "test-web", want the name of one server`, "$EDITOR environments/test/environment.yaml")
}

// A log that does not exist is refused before anything is opened.
func TestLog(t *testing.T) {
	d := testkit.New(t)
	must.Refuse(t, deploy(t.Context(), d.Run, playbook.Options{Log: "all"}), `--log is "all", want one of tasks, plays, debug`, "--log=tasks")
	for _, log := range []string{"tasks", "plays", "debug"} {
		must.Refuse(t, deploy(t.Context(), d.Run, playbook.Options{Log: log}), "environment test has no playbook", "$EDITOR environments/test/environment.yaml")
	}
}
