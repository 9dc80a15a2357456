package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
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

// WriteVariables returns variables in YAML, sorted by name. All text is quoted: the YAML of Ansible
// takes more words for something else than ours, such as =. A text that looks like a template is
// marked so that Ansible takes it as it is, and a password cannot inject a template.
func WriteVariables(variables map[string]any) ([]byte, error) {
	var node yaml.Node
	if err := node.Encode(numbers(variables)); err != nil {
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

// numbers returns a value whose numbers are written with the digits that they have in JSON, and
// without an exponent, which the YAML of Ansible takes for text.
func numbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for name, child := range value {
			all[name] = numbers(child)
		}
		return all
	case []any:
		all := make([]any, len(value))
		for i, child := range value {
			all[i] = numbers(child)
		}
		return all
	case json.Number:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: value.String()}
		if strings.ContainsAny(node.Value, "eE") {
			number, _, err := big.ParseFloat(node.Value, 10, 512, big.ToNearestEven) // as OpenTofu has them
			if err != nil {
				return value.String()
			}
			node.Value = number.Text('f', -1)
		}
		if strings.Contains(node.Value, ".") {
			node.Tag = "!!float"
		}
		return node
	}
	return value
}

func protect(node *yaml.Node) {
	if node.ShortTag() == "!!str" {
		node.Style = yaml.DoubleQuotedStyle
		for _, begin := range []string{"{{", "{%", "{#"} {
			if strings.Contains(node.Value, begin) {
				node.Tag = "!unsafe"
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
