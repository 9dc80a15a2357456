//go:build e2e && bench

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBenchNodes compares `cluster apply` of one setting on two nodes with bare talosctl, which gives both the
// same configuration and asks nothing.
func TestBenchNodes(t *testing.T) {
	n := rounds(t)
	needNodes(t, nodes...)
	c := newClusterCheckout(t)
	const env = "--env=cluster-local"
	c.call(t, "up", env).must(t)
	smallest := newSmallestModule(t, c, nil, pinned(t, "DEBIAN"))

	folder := t.TempDir()
	login := filepath.Join(folder, "talosconfig")
	c.file(t, login, c.call(t, "cluster", "talosconfig", env, "plaintext").must(t).stdout)
	program := glob(t, filepath.Join(cacheDir(t), "products/talos-talosctl-*/talosctl"))[0]
	talosctl := func(args ...string) result {
		t.Helper()
		return run(t, "nsenter", append([]string{"--net=" + engineNetwork(t), program, "--talosconfig=" + login}, args...)...).must(t)
	}
	addresses := []string{"198.18.87.11", "198.18.87.21"}
	patch := filepath.Join(c.dir, "environments/cluster-local/node.yaml")
	own, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	value := 10
	setting := func() string { return fmt.Sprintf("vm.swappiness: %q", fmt.Sprint(value)) }
	var calls, bare, modules []time.Duration
	for range n {
		c.file(t, patch, string(own)+"---\nmachine: {sysctls: {"+setting()+"}}\n")
		begin := time.Now()
		c.call(t, "cluster", "apply", env).must(t).says(t, "cp-1: 1 setting changed", "worker-1: 1 setting changed")
		calls = append(calls, time.Since(begin))

		c.file(t, patch, string(own)+"---\n# the next\nmachine: {sysctls: {"+setting()+"}}\n") // a checkout with a change, as before
		begin = time.Now()
		runIn(t, smallest, nil, "dagger", "call", "exec-with-service", "--checkout="+c.dir).must(t)
		modules = append(modules, time.Since(begin))

		was := setting()
		value++
		for _, address := range addresses {
			config := talosctl("-n", address, "get", "machineconfig", "v1alpha1", "-o", "jsonpath={.spec}").stdout
			if !strings.Contains(config, was) {
				t.Fatalf("the configuration of %s has no %s", address, was)
			}
			c.file(t, filepath.Join(folder, address), strings.ReplaceAll(config, was, setting()))
		}
		begin = time.Now()
		for _, address := range addresses {
			talosctl("-n", address, "apply-config", "-f", filepath.Join(folder, address))
		}
		bare = append(bare, time.Since(begin))
		value++
	}
	slices.Sort(calls)
	slices.Sort(bare)
	slices.Sort(modules)
	call, tool, module := calls[n/2], bare[n/2], modules[n/2]
	fmt.Printf("the smallest module: one exec and a service     %6.2f s, on the same checkout\n", module.Seconds())
	fmt.Printf("talosctl apply-config, two nodes                %6.2f s\n", tool.Seconds())
	over := call - tool*115/100
	fmt.Printf("dagger call cluster apply, the same work        %6.2f s = 1.15 × the bare tool + %.2f s\n", call.Seconds(), over.Seconds())
	// What Dagger needs for any module's call is measured beside it.
	if limit := module + 1500*time.Millisecond; over > limit && n > 1 {
		t.Errorf("cluster apply takes %.2f s more than 1.15 × the bare tool, and the smallest module's call %.2f s", over.Seconds(), module.Seconds())
	}
}
