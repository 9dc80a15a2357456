//go:build e2e

package e2e

import (
	"testing"

	"slipway/internal/testkit"
)

// TestAnsibleLint checks the playbooks without a host, by Debian's packages of ansible-lint and
// yamllint: their style, and what their templates render.
func TestAnsibleLint(t *testing.T) {
	testkit.Deep(t, "it takes minutes")
	t.Parallel()
	dagger(t, "core", "container", "from", "--address="+pinned(t, "ANSIBLE"),
		"with-exec", "--args=apt-get,update,-qq",
		"with-exec", "--args=apt-get,install,-y,-qq,--no-install-recommends,ansible,ansible-lint,yamllint",
		"with-workdir", "--path=/ansible", "with-directory", "--path=.", "--source=ansible",
		"with-exec", "--args=yamllint,--strict,.",
		"with-exec", "--args=ansible-lint,--offline",
		"with-exec", "--args=ansible-playbook,tests/render.yml",
		"stdout").must(t).says(t, "failed=0")
}
