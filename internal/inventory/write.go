package inventory

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"slipway/internal/remote"
)

// Write returns the inventory in YAML: each host below the group all with its variables, and the
// groups with the names of their hosts.
func Write(hosts []remote.Host) ([]byte, error) {
	all := map[string]any{}
	groups := map[string]any{}
	for _, h := range hosts {
		own := maps.Clone(h.Variables)
		if own == nil {
			own = map[string]any{}
		}
		own["ansible_host"], own["ansible_user"], own["ansible_port"] = h.Address, h.User, h.Port
		all[h.Name] = own
		for _, group := range h.Groups {
			if groups[group] == nil {
				groups[group] = map[string]any{"hosts": map[string]any{}}
			}
			groups[group].(map[string]any)["hosts"].(map[string]any)[h.Name] = nil
		}
	}
	return WriteVariables(map[string]any{"all": map[string]any{"hosts": all, "children": groups}})
}

// WriteVariables returns variables in YAML, sorted by name. A text that looks like a template is
// marked so that Ansible takes it as it is: nobody may run code by a password.
func WriteVariables(variables map[string]any) ([]byte, error) {
	var node yaml.Node
	if err := node.Encode(variables); err != nil {
		return nil, err
	}
	protect(&node)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

func protect(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" {
		for _, begin := range []string{"{{", "{%", "{#"} {
			if strings.Contains(node.Value, begin) {
				node.Tag, node.Style = "!unsafe", yaml.DoubleQuotedStyle
			}
		}
	}
	for _, child := range node.Content {
		protect(child)
	}
}

// KnownHosts returns a known_hosts file for all the hosts.
func KnownHosts(hosts []remote.Host) []byte {
	var text bytes.Buffer
	var seen []string
	for _, h := range hosts {
		lines, _ := knownHosts(h) // checked when the host was read
		for _, line := range lines {
			if !slices.Contains(seen, line) {
				seen = append(seen, line)
				text.WriteString(line + "\n")
			}
		}
	}
	return text.Bytes()
}

// SSHConfig are the paths that a configuration of OpenSSH's client names.
type SSHConfig struct {
	KnownHosts string // file
	Agent      string // socket of the agent with the key
	Self       string // the runner itself, for ProxyCommand
}

// Write returns the configuration: how each host is reached, and that its key must be known.
func (c SSHConfig) Write(hosts []remote.Host) []byte {
	var text bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	for _, h := range hosts {
		line("Host %s", h.Address)
		switch {
		case h.Jump != nil:
			line("  ProxyJump %s@%s", h.Jump.User, net.JoinHostPort(h.Jump.Address, strconv.Itoa(h.Jump.Port)))
		case h.Proxy != "":
			line("  ProxyCommand %s connect --proxy=%s %%h %%p", c.Self, h.Proxy)
		}
	}
	line("Host *")
	for _, setting := range []string{
		"StrictHostKeyChecking yes", "UserKnownHostsFile " + c.KnownHosts, "GlobalKnownHostsFile /dev/null", "UpdateHostKeys no",
		"IdentityAgent " + c.Agent, "IdentityFile none", "PreferredAuthentications publickey", "BatchMode yes",
		"ConnectTimeout 15", "ServerAliveInterval 15", "ServerAliveCountMax 4",
	} {
		line("  %s", setting)
	}
	return text.Bytes()
}
