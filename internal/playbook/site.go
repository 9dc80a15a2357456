// Package playbook runs an environment's playbook on the hosts that its layers created.
package playbook

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"slipway/internal/ansible"
	"slipway/internal/fault"
	"slipway/internal/hosts"
	"slipway/internal/inventory"
	"slipway/internal/layer"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/tofu"
)

// A Site is what a playbook works on: the hosts of all layers, and the variables for them.
type Site struct {
	*run.Run
	Hosts     []remote.Host
	Variables map[string]any // not secret
	Secrets   map[string]any
	Key       ssh.Signer // logs in to the hosts

	seen      []layerOutputs
	unreached map[string]error // why hosts cannot be logged in to, by name, as far as it is known
}

type layerOutputs struct {
	layer   string
	outputs tofu.Outputs
}

// Open reads the hosts and the variables from the states of an environment.
func Open(ctx context.Context, r *run.Run) (*Site, error) {
	if err := refuseWithout(r); err != nil {
		return nil, err
	}
	s := &Site{Run: r}
	err := layer.Each(ctx, r, func(l *layer.Layer) error {
		outputs, err := l.Outputs(ctx)
		if err != nil {
			return err
		}
		return s.Add(l, outputs)
	})
	if err != nil {
		return nil, err
	}
	return s, s.Complete()
}

// New returns a site without hosts, for a command that adds the outputs that it has read itself.
func New(r *run.Run) *Site { return &Site{Run: r} }

func refuseWithout(r *run.Run) error {
	if r.Environment.Deploy == nil {
		return fault.Refuse("$EDITOR environments/"+r.Env+"/environment.yaml   # deploy: {playbook: site.yml}", "environment %s has no playbook", r.Env)
	}
	return nil
}

// Add adds the hosts of a layer.
func (s *Site) Add(l *layer.Layer, outputs tofu.Outputs) error {
	found, err := hosts.Of(l, outputs)
	if err != nil {
		return err
	}
	for _, h := range found {
		if slices.ContainsFunc(s.Hosts, func(other remote.Host) bool { return other.Name == h.Name }) {
			return fault.Refuse("$EDITOR "+l.Environment.Dir(l.Config), "two layers of %s have a host named %s", s.Env, h.Name)
		}
	}
	s.Hosts = append(s.Hosts, found...)
	s.seen = append(s.seen, layerOutputs{l.Name, outputs})
	return nil
}

// Complete reads the variables and the key, after all layers were added.
func (s *Site) Complete() (err error) {
	if len(s.Hosts) == 0 {
		return fault.Refuse("dagger call apply --env="+s.Env, "environment %s has no hosts: no layer has an output %s", s.Env, inventory.HostsOutput)
	}
	if err := hosts.Route(s.Environment, s.Hosts); err != nil {
		return err
	}
	s.Variables, s.Secrets = map[string]any{}, map[string]any{}
	for _, l := range s.seen {
		if err := inventory.Variables(l.layer, l.outputs, s.Variables, s.Secrets); err != nil {
			return fault.Refuse("$EDITOR environments/"+s.Env, "%v", err)
		}
	}
	for variable, value := range s.Credentials {
		if name, ok := strings.CutPrefix(variable, secrets.PlaybookPrefix); ok {
			s.Secrets[name] = value
		}
	}
	if err := s.refuseMissing(); err != nil {
		return err
	}
	s.Key, err = hosts.NeedPrivateKey(s.Run)
	return err
}

// refuseMissing refuses credentials that lack a variable for Ansible which their template has. Such a
// variable is newer than the file.
func (s *Site) refuseMissing() error {
	for _, file := range s.Environment.CredentialFiles {
		template, err := run.Template(os.DirFS(s.Repository), file)
		if err != nil {
			return err
		}
		for _, variable := range slices.Sorted(maps.Keys(template)) {
			if strings.HasPrefix(variable, secrets.PlaybookPrefix) && s.Credentials[variable] == "" {
				return fault.Refuse(s.SetCommand(variable), "the credentials of %s have no %s, which the playbook needs", s.Env, variable)
			}
		}
	}
	return nil
}

// own returns the variables that Slipway itself sets.
func (s *Site) own() (map[string]any, error) {
	list, err := s.Pins()
	if err != nil {
		return nil, err
	}
	pins := map[string]any{}
	for _, p := range list {
		pins[p.Name] = p.Reference()
	}
	return map[string]any{
		"slipway_environment": s.Env, "slipway_pins": pins, "slipway_serial": cmp.Or(s.Environment.Deploy.Serial, "100%"),
		// Variables win over Ansible's environment. With these, nothing in ansible/ can switch off the check of the
		// host keys.
		"ansible_ssh_args": ansible.SSHArgs(s.Path(sshConfigFile)), "ansible_ssh_executable": "ssh",
		"ansible_host_key_checking": true, "ansible_ssh_host_key_checking": true,
	}, nil
}

// count returns "1 host" or "3 hosts".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
