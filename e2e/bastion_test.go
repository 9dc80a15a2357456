//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/testkit"
	"slipway/internal/testkit/openssh"
)

// only cuts the nodes off from whatever runs in the engine: the bridge that its containers hang on forwards nothing.
// Processes of the engine's own network still reach them.
func only(t *testing.T, network string) {
	t.Helper()
	set := func(value string) {
		run(t, "nsenter", "--net="+network, "sh", "-c", "for f in /proc/sys/net/ipv4/conf/dagger*/forwarding; do echo "+value+" >$f; done").must(t)
	}
	set("0")
	t.Cleanup(func() { set("1") })
}

// The guide to a cluster behind a bastion, as it is written: its files, with the addresses of the nodes on this machine,
// and then its commands, line by line. The bastion is OpenSSH's server of Debian, and nothing else leads to the nodes.
func TestGuideOfBastion(t *testing.T) {
	testkit.Deep(t, "it boots real Talos nodes with Kubernetes")
	needNodes(t, nodes...)
	network := engineNetwork(t)
	private, public := openssh.NewKey(t)
	gate := openssh.Start(t, openssh.Config{
		Root: filepath.Join(repository, ".slipway/ansible"), Network: network, Address: "198.18.87.1", Port: 2222, Operator: public, Forwards: true,
	})
	only(t, network)

	c := newRepository(t)
	c.sealCluster(t)
	folder := filepath.Join(c.dir, "environments/cluster-local")
	home := t.TempDir()
	c.file(t, filepath.Join(home, ".ssh/cluster-local"), private)
	text, err := os.ReadFile(filepath.Join(repository, "docs/cluster-bastion.md"))
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("home", "cluster-local", "10.0.0.", "198.18.87.", `"debian"`, `"root"`, "= 22\n", "= 2222\n", `"${local.bastion.address} `, `"[${local.bastion.address}]:2222 `)
	guide := here.Replace(string(text))

	// That of the user, and of these nodes.
	settings, err := os.ReadFile(filepath.Join(folder, "environment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	described, err := os.ReadFile(filepath.Join(folder, "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, lab, _ := strings.Cut(string(described), "registries:")
	lab, _, _ = strings.Cut(lab, "nodes:")
	c.file(t, filepath.Join(folder, "outputs.tf"), block(t, guide, "hcl", "ansible_inventory"))
	c.file(t, filepath.Join(folder, "cluster.yaml"), block(t, guide, "yaml", "endpoint:")+"registries:"+lab)
	c.file(t, filepath.Join(folder, "environment.yaml"), strings.Replace(string(settings), "layers: [] # only a cluster\n", "", 1)+block(t, guide, "yaml", "jump:"))
	c.file(t, filepath.Join(folder, "machines.tf"), `terraform {
  backend "s3" {}
}

locals {
  bastion = { address = "198.18.87.1", host_key = "`+gate.Public+`" }
  nodes = {
    cp-1     = { address = "198.18.87.11", role = "controlplane" }
    worker-1 = { address = "198.18.87.21", role = "worker" }
  }
}
`)
	tried := 0
	for _, commands := range consoleBlocks(guide) {
		for _, line := range linesOf(commands) {
			c.shell(t, strings.ReplaceAll(line.command, "$HOME", home)).must(t).says(t, line.prints...)
			tried++
		}
	}
	if tried < 7 {
		t.Errorf("the guide has %d commands", tried)
	}
	if n := strings.Count(gate.Log(), "Accepted publickey for root"); n < 4 {
		t.Errorf("%d logins:\n%s", n, gate.Log())
	}
	gate.Off()
	c.shell(t, "dagger call cluster status --env=cluster-local").says(t, "the bastion gate cannot be reached")
}

// block returns the block of a guide in this language with this text in it.
func block(t *testing.T, guide, language, text string) string {
	t.Helper()
	for _, part := range strings.Split(guide, "```"+language+"\n")[1:] {
		if block, _, _ := strings.Cut(part, "```"); strings.Contains(block, text) {
			return block
		}
	}
	t.Fatalf("the guide has no block with %s", text)
	return ""
}
