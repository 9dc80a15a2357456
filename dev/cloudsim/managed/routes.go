package managed

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// routes give a machine's connections the address that the server has in the cloud, so that the
// restrictions decide about what they would at OVH. Connections from elsewhere keep their address,
// which is in no restriction.
type routes struct{ current string }

const chain = "CLOUDSIM"

// set lets the addresses in sources reach a port under their address in the cloud.
func (r *routes) set(ctx context.Context, port int, sources map[string]string) error {
	rules := routeRules(port, sources)
	if rules == r.current {
		return nil
	}
	if r.current == "" {
		if err := iptables(ctx, "", "iptables", "--wait", "--table", "nat", "--new-chain", chain); err != nil {
			return err
		}
		if err := iptables(ctx, "", "iptables", "--wait", "--table", "nat", "--append", "INPUT", "--jump", chain); err != nil {
			return err
		}
	}
	if err := iptables(ctx, rules, "iptables-restore", "--wait", "--noflush"); err != nil {
		return err
	}
	r.current = rules
	return nil
}

// routeRules is what iptables-restore reads. Naming the chain empties it.
func routeRules(port int, sources map[string]string) string {
	text := "*nat\n:" + chain + " - [0:0]\n"
	for _, from := range slices.Sorted(maps.Keys(sources)) {
		text += fmt.Sprintf("-A %s -s %s/32 -p tcp --dport %d -j SNAT --to-source %s\n", chain, from, port, sources[from])
	}
	return text + "COMMIT\n"
}

func iptables(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(text)))
	}
	return nil
}
