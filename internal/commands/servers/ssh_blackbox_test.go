//go:build blackbox

package servers

import (
	"os"
	"path/filepath"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// The hosts are those that the layers' outputs list.
func TestBlackBoxLogIn(t *testing.T) {
	t.Parallel()
	d := testkit.New(t)
	d.Work = testkit.ForTools(t)
	d.WithCode("")
	const code = "terraform {\n  backend \"s3\" {}\n}\noutput \"ansible_inventory\" {\n  value = { host = \"127.0.0.1\", port = 22, user = \"debian\", known_hosts = \"127.0.0.1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4mvDc2K7t3DQmfCLzVOQIyXn5aZmtYpHqYk8Zl0b1C\" }\n}\n"
	must.Do(t, os.WriteFile(filepath.Join(d.Repository, "environments/test/main.tf"), []byte(code), 0o600))
	r := d.Opened()
	must.Refuse(t, logIn(t.Context(), r, ""), "environment test has no hosts", "dagger call apply --env=test")
	r.Work = testkit.ForTools(t)
	must.Do(t, layer.Each(t.Context(), r, func(l *layer.Layer) error {
		if _, err := l.Plan(t.Context(), tofu.Plan{}); err != nil {
			return err
		}
		return l.Tofu(t.Context(), "apply", tofu.Apply{Plan: l.PlanFile(), Locked: true}.Args()...)
	}))
	r.Work = testkit.ForTools(t)
	must.Refuse(t, logIn(t.Context(), r, ""), "the credentials of test have no SSH_PRIVATE_KEY", "--variable=SSH_PRIVATE_KEY")
	r.Work, r.Environment.SSH = testkit.ForTools(t), &environment.SSH{Jump: "gate"}
	must.Refuse(t, logIn(t.Context(), r, ""), `ssh.jump is "gate", and the hosts of test are test`, "$EDITOR environments/test/environment.yaml")
}
