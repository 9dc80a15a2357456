// Package inventory reads the hosts and the variables that layers give to Ansible, and writes them
// in the form of Ansible's inventory.
package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"slipway/internal/remote"
	"slipway/internal/tofu"
)

// The outputs of a root module that Ansible uses.
const (
	// HostsOutput lists the hosts that the layer created: one host, or several by name.
	HostsOutput = "ansible_inventory"
	// VariablesOutput has variables for the playbook, by name. None is a secret.
	VariablesOutput = "ansible_vars"
	// SecretsOutput is the same for secrets. A map in both is merged.
	SecretsOutput = "ansible_secrets"
)

// entry is one host of the output. A pointer is nil if the field is missing.
type entry struct {
	Host       *string        `json:"host"`
	User       *string        `json:"user"`
	Port       *int           `json:"port"`
	KnownHosts *string        `json:"known_hosts"`
	Groups     []string       `json:"groups"`
	Vars       map[string]any `json:"vars"`
	BootMarker *string        `json:"boot_marker"`
}

var (
	hostPattern     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)
	userPattern     = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// reserved are groups and a host that Ansible has itself.
var reserved = []string{"all", "ungrouped", "localhost"}

// Hosts reads a layer's hosts, sorted by name. A layer without the output has none. A host that is
// not in a map has the layer's name. The errors name the field.
func Hosts(layer string, outputs tofu.Outputs) ([]remote.Host, error) {
	output := outputs[HostsOutput]
	if output.Sensitive || len(output.Value) == 0 {
		return nil, nil
	}
	at := "the output " + HostsOutput + " of " + layer
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(output.Value, &entries); err != nil {
		return nil, fmt.Errorf("%s is neither one host nor a map of hosts by name", at)
	}
	if value, ok := entries["host"]; ok && !bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) {
		h, err := readHost(at, layer, output.Value)
		return []remote.Host{h}, err
	}
	var list []remote.Host
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if !hostPattern.MatchString(name) {
			return nil, fmt.Errorf("%s has a host named %q: use letters, digits, dots and dashes", at, name)
		}
		if slices.Contains(reserved, name) {
			return nil, fmt.Errorf("%s has a host named %s, a name that Ansible uses itself", at, name)
		}
		h, err := readHost(at+": "+name, name, entries[name])
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

func readHost(at, name string, data json.RawMessage) (remote.Host, error) {
	var e entry
	if err := strictly(data, &e); err != nil {
		return remote.Host{}, fmt.Errorf("%s: %w", at, err)
	}
	port := 22
	if e.Port != nil {
		port = *e.Port
	}
	switch {
	case e.Host == nil:
		return remote.Host{}, fmt.Errorf("%s has no host, which is its address", at)
	case !isAddress(*e.Host):
		return remote.Host{}, fmt.Errorf("%s: host is %q, want an IP address or a name", at, *e.Host)
	case e.User == nil:
		return remote.Host{}, fmt.Errorf("%s has no user to log in as", at)
	case !userPattern.MatchString(*e.User):
		return remote.Host{}, fmt.Errorf("%s: user is %q, want the name of a user", at, *e.User)
	case port < 1 || port > 65535:
		return remote.Host{}, fmt.Errorf("%s: port is %d, want 1 to 65535", at, port)
	case e.KnownHosts == nil:
		return remote.Host{}, fmt.Errorf("%s has no known_hosts: Slipway trusts no host key on first use", at)
	}
	h := remote.Host{Name: name, Address: *e.Host, User: *e.User, Port: port, KnownHosts: *e.KnownHosts, Groups: e.Groups, Variables: e.Vars}
	if _, err := knownHosts(h); err != nil {
		return h, fmt.Errorf("%s: known_hosts: %w", at, err)
	}
	for _, group := range e.Groups {
		if !variablePattern.MatchString(group) || slices.Contains(reserved, group) {
			return h, fmt.Errorf("%s: groups has %q: use letters, digits and underscores, and none of %s", at, group, strings.Join(reserved, ", "))
		}
	}
	if err := checkNames(e.Vars); err != nil {
		return h, fmt.Errorf("%s: vars %w", at, err)
	}
	if e.BootMarker != nil {
		if h.BootMarker = *e.BootMarker; !path.IsAbs(h.BootMarker) {
			return h, fmt.Errorf("%s: boot_marker is %q, want the absolute path of a file", at, h.BootMarker)
		}
	}
	return h, nil
}

// isAddress reports whether a text can be the address of a host. The zone of an address can be any
// text, and ssh gets it.
func isAddress(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == "" || hostPattern.MatchString(text)
}

// checkNames refuses names that cannot be variables, and Ansible's own: with these, an output could
// switch off the check of the host keys.
func checkNames(variables map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		switch {
		case !variablePattern.MatchString(name):
			return fmt.Errorf("has %q, which cannot be the name of a variable", name)
		case strings.HasPrefix(name, "ansible_") || strings.HasPrefix(name, "slipway_"):
			return fmt.Errorf("has %s: names with ansible_ and slipway_ are set by Ansible and Slipway", name)
		}
	}
	return nil
}

// Variables reads a layer's variables into the two maps, as Merge does. Numbers stay as they are
// written: as floating point, large ones would change.
func Variables(layer string, outputs tofu.Outputs, into, secrets map[string]any) error {
	for name, into := range map[string]map[string]any{VariablesOutput: into, SecretsOutput: secrets} {
		output := outputs[name]
		if len(output.Value) == 0 || string(output.Value) == "null" {
			continue
		}
		at := "the output " + name + " of " + layer
		if output.Sensitive != (name == SecretsOutput) {
			return fmt.Errorf("%s has sensitive = %t: put secrets into %s, and everything else into %s", at, output.Sensitive, SecretsOutput, VariablesOutput)
		}
		var variables map[string]any
		decoder := json.NewDecoder(bytes.NewReader(output.Value))
		decoder.UseNumber()
		if err := decoder.Decode(&variables); err != nil {
			return fmt.Errorf("%s is not a map of variables by name", at)
		}
		if err := checkNames(variables); err != nil {
			return fmt.Errorf("%s %w", at, err)
		}
		maps.Copy(into, Merge(into, variables))
	}
	return nil
}

// Merge returns both maps in one. Where both have a map under the same name, these are merged too;
// otherwise b wins.
func Merge(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	for name, value := range b {
		left, _ := all[name].(map[string]any)
		if right, ok := value.(map[string]any); ok {
			value = Merge(left, right)
		}
		all[name] = value
	}
	return all
}

// strictly decodes JSON. Its errors name the field, and never the value.
func strictly(data json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	err := decoder.Decode(into)
	wrong, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case mistyped && wrong.Field == "":
		return fmt.Errorf("it is %s, want a host", article(wrong.Value))
	case mistyped:
		return fmt.Errorf("%s is %s, want %s", wrong.Field, article(wrong.Value), kinds[wrong.Type.Kind().String()])
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown field %s: the fields are host, user, port, known_hosts, groups, vars and boot_marker", name)
	}
	return errors.New("it is not JSON of a host")
}

// kinds are Go's kinds in the words of OpenTofu.
var kinds = map[string]string{"string": "a string", "int": "a whole number", "slice": "a list", "map": "a map"}

func article(kind string) string {
	kind, _, _ = strings.Cut(kind, " ")
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "a map"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// knownHosts returns the lines of a host's known_hosts that are for its address, and name nothing
// else: ssh reads those of all hosts. One of them must be a key to trust.
func knownHosts(h remote.Host) ([]string, error) {
	address := knownhosts.Normalize(net.JoinHostPort(h.Address, strconv.Itoa(h.Port)))
	var lines []string
	found := false
	n := 0
	for line := range strings.Lines(h.KnownHosts) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		marker, names, key, _, _, err := ssh.ParseKnownHosts([]byte(line))
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d is not a line of known_hosts", n)
		case marker == "cert-authority":
			return nil, fmt.Errorf("line %d is that of an authority: Slipway trusts keys of hosts only", n)
		case !slices.Contains(names, h.Address) && !slices.Contains(names, address) && (marker != "revoked" || !slices.Contains(names, "*")):
			continue
		}
		own := address + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
		if marker != "" {
			own = "@" + marker + " " + own
		}
		found = found || marker == ""
		lines = append(lines, own)
	}
	if !found {
		return nil, fmt.Errorf("there is no line for %s", h.Address)
	}
	return lines, nil
}
