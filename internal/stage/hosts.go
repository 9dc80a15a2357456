package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"slipway/internal/refusal"
	"slipway/internal/remote"
	"slipway/internal/tofu"
)

const (
	// inventoryOutput is the output by which a root module says which hosts it made:
	// one, or several by name.
	inventoryOutput = "ansible_inventory"
	// operatorKey is the private key, among the credentials, that they let in.
	operatorKey = "SSH_PRIVATE_KEY"
	// bootMarker is the last that cloud-init makes on a host.
	bootMarker = "/var/lib/cloud/instance/boot-finished-slipway"
)

// hostsIn reads the hosts out of a layer's outputs.
func hostsIn(layer string, outputs tofu.Outputs) ([]remote.Host, error) {
	output, ok := outputs[inventoryOutput]
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
		return nil, fmt.Errorf("the output %s of %s is not one host, and not hosts by name", inventoryOutput, layer)
	}
	var list []remote.Host
	for _, name := range slices.Sorted(maps.Keys(several)) {
		h := several[name]
		if h.Address == "" {
			return nil, fmt.Errorf("the output %s of %s has no address for %s", inventoryOutput, layer, name)
		}
		h.Name = name
		list = append(list, h)
	}
	return list, nil
}

// made shows what an apply of the root made, and returns the hosts among it.
func (r *Layer) made(outputs tofu.Outputs) ([]remote.Host, error) {
	r.ShowOutputs(outputs)
	return r.OfLayer(outputs)
}

// OfLayer are those in the outputs, and the way to them.
func (r *Layer) OfLayer(outputs tofu.Outputs) ([]remote.Host, error) {
	hosts, err := hostsIn(r.Name, outputs)
	if r.Environment.SSH != nil {
		for i := range hosts {
			hosts[i].Proxy = r.Environment.SSH.Proxy
		}
	}
	return hosts, err
}

// PrivateKey is the operator's, or nil if the credentials have none.
func (s *Run) PrivateKey() (ssh.Signer, error) {
	text := s.Credentials[operatorKey]
	if text == "" {
		return nil, nil
	}
	key, err := ssh.ParsePrivateKey([]byte(text))
	if err != nil {
		// The error of the library may quote the key.
		return nil, refusal.New(s.SetCommand(operatorKey), "%s in the credentials of %s is no private key without a passphrase", operatorKey, s.Env)
	}
	return key, nil
}

// Await waits until the hosts let us in and have finished their first boot.
func (s *Run) Await(ctx context.Context, hosts []remote.Host) error {
	if len(hosts) == 0 {
		return nil
	}
	key, err := s.PrivateKey()
	if err != nil {
		return err
	}
	if key == nil {
		s.Say("note: the hosts are not waited for, because the credentials of %s have no %s", s.Env, operatorKey)
		return nil
	}
	progress := func(text string) { s.Say("%s", plain(text)) }
	for _, h := range hosts {
		err := s.Timed("wait for "+h.Name, func() error {
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
		s.Report.Add(func(mask func(string) string) string {
			return fmt.Sprintf("%s is up at %s\n", plain(h.Name), mask(plain(h.Address)))
		})
	}
	return nil
}

// ssh opens a shell on a host, whose key is checked.
func (s *Run) ssh(ctx context.Context) error {
	var hosts []remote.Host
	err := s.Each(ctx, func(r *Layer) error {
		outputs, err := r.Outputs(ctx)
		if err != nil {
			return err
		}
		found, err := r.OfLayer(outputs)
		hosts = append(hosts, found...)
		return err
	})
	if err != nil {
		return err
	}
	h, err := s.Choose(hosts)
	if err != nil {
		return err
	}
	key, err := s.PrivateKey()
	if err == nil && key == nil {
		err = refusal.New(s.SetCommand(operatorKey), "the credentials of %s have no %s, by which its hosts are entered", s.Env, operatorKey)
	}
	if err != nil {
		return err
	}
	client, err := remote.Dial(ctx, h, key)
	if err != nil {
		return fmt.Errorf("log in to %s at %s: %w", h.Name, h.Address, err)
	}
	defer client.Close()
	return remote.Terminal(ctx, client)
}

// Choose is the host that was named, or the only one.
func (s *Run) Choose(hosts []remote.Host) (remote.Host, error) {
	var names []string
	for _, h := range hosts {
		if h.Name == s.Host || s.Host == "" && len(hosts) == 1 {
			return h, nil
		}
		names = append(names, h.Name)
	}
	if len(hosts) == 0 {
		return remote.Host{}, refusal.New("dagger call apply --env="+s.Env, "environment %s has no hosts: no layer has an output %s", s.Env, inventoryOutput)
	}
	hint := "dagger call ssh --env=" + s.Env + " --host=" + names[0]
	if s.Host == "" {
		return remote.Host{}, refusal.New(hint, "environment %s has several hosts: %s", s.Env, strings.Join(names, ", "))
	}
	return remote.Host{}, refusal.New(hint, "environment %s has no host %q; its hosts are %s", s.Env, s.Host, strings.Join(names, ", "))
}
