//go:build e2e

package e2e

import (
	"testing"
)

// TestAnsibleLint checks the playbooks without a host, by Debian's packages of ansible-lint and
// yamllint: their style, and what their templates render.
func TestAnsibleLint(t *testing.T) {
	t.Parallel()
	dagger(t, "core", "container", "from", "--address="+pinned(t, "ANSIBLE"),
		"with-exec", "--args=apt-get,update,-qq",
		"with-exec", "--args=apt-get,install,-y,-qq,--no-install-recommends,ansible,ansible-lint,yamllint",
		"with-workdir", "--path=/ansible", "with-directory", "--path=.", "--source=ansible",
		"with-exec", "--args=yamllint,--strict,.",
		// There is no inventory, so no group has a host.
		"with-env-variable", "--name=ANSIBLE_HOST_PATTERN_MISMATCH", "--value=ignore",
		"with-exec", "--args=ansible-lint,--offline",
		"with-exec", "--args=ansible-playbook,tests/render.yml",
		"stdout").must(t).says(t, "failed=0")
}
