// Package hosts finds the hosts that an apply created, and waits until they are up.
package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/crypto/ssh"

	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/refusal"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

const (
	// InventoryOutput is the root module's output that lists the hosts it created: one host, or
	// several by name.
	InventoryOutput = "ansible_inventory"
	// OperatorKey is the variable in the credentials with the private key for the hosts.
	OperatorKey = "SSH_PRIVATE_KEY"
	// bootMarker is the last file that cloud-init writes on a host.
	bootMarker = "/var/lib/cloud/instance/boot-finished-slipway"
)

// hostsIn reads the hosts from a layer's outputs.
func hostsIn(layer string, outputs tofu.Outputs) ([]remote.Host, error) {
	output, ok := outputs[InventoryOutput]
	if !ok || output.Sensitive || len(output.Value) == 0 || string(output.Value) == "null" {
		return nil, nil
	}
	var one remote.Host
	if json.Unmarshal(output.Value, &one) == nil && one.Address != "" {
		one.Name = layer
		return []remote.Host{one}, nil
	}
	var several map[string]remote.Host
	if err := json.Unmarshal(output.Value, &several); err != nil {
		return nil, fmt.Errorf("the output %s of %s is neither one host nor a map of hosts by name", InventoryOutput, layer)
	}
	var list []remote.Host
	for _, name := range slices.Sorted(maps.Keys(several)) {
		h := several[name]
		if h.Address == "" {
			return nil, fmt.Errorf("the output %s of %s has no address for %s", InventoryOutput, layer, name)
		}
		h.Name = name
		list = append(list, h)
	}
	return list, nil
}

// Of returns the hosts in a layer's outputs, with the proxy to reach them.
func Of(l *layer.Layer, outputs tofu.Outputs) ([]remote.Host, error) {
	hosts, err := hostsIn(l.Name, outputs)
	if l.Environment.SSH != nil {
		for i := range hosts {
			hosts[i].Proxy = l.Environment.SSH.Proxy
		}
	}
	return hosts, err
}

// PrivateKey returns the operator's key; nil if the credentials have none.
func PrivateKey(r *run.Run) (ssh.Signer, error) {
	text := r.Credentials[OperatorKey]
	if text == "" {
		return nil, nil
	}
	key, err := ssh.ParsePrivateKey([]byte(text))
	if err != nil {
		// The library's error may quote the key.
		return nil, refusal.New(r.SetCommand(OperatorKey), "%s in the credentials of %s is not a private key, or it has a passphrase", OperatorKey, r.Env)
	}
	return key, nil
}

// Await waits until it can log in to the hosts and they have finished their first boot.
func Await(ctx context.Context, r *run.Run, hosts []remote.Host) error {
	if len(hosts) == 0 {
		return nil
	}
	key, err := PrivateKey(r)
	if err != nil {
		return err
	}
	if key == nil {
		r.Say("note: not waiting for the hosts, because the credentials of %s have no %s", r.Env, OperatorKey)
		return nil
	}
	progress := func(text string) { r.Say("%s", printable.Terminal(text)) }
	for _, h := range hosts {
		err := r.Timed("wait for "+h.Name, func() error {
			client, err := remote.WaitForSSH(ctx, h, key, remote.ForSSH, progress)
			if err != nil {
				return err
			}
			defer client.Close()
			return remote.WaitForMarker(ctx, h, client, bootMarker, remote.ForMarker, progress)
		})
		if err != nil {
			return err
		}
		r.Report.Add(func(mask func(string) string) string {
			return fmt.Sprintf("%s is up at %s\n", printable.Terminal(h.Name), mask(printable.Terminal(h.Address)))
		})
	}
	return nil
}
