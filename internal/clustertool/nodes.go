package clustertool

import (
	"net/netip"
	"slices"
	"strings"

	"slipway/internal/cluster"
	"slipway/internal/fault"
	"slipway/internal/printable"
)

// NamesNodes reports whether a flag of the call says on which nodes it works.
func (c Call) NamesNodes() bool {
	return slices.ContainsFunc(c.Tool.options(c.Verb, c.Args), func(o option) bool { return o.among(c.Tool.nodes) })
}

// WithAddresses replaces the names of nodes by their addresses, in the flags that say on which nodes the call works.
// Nodes that cluster.yaml does not have are refused.
func (c Call) WithAddresses(spec *cluster.Cluster) (Call, error) {
	args := slices.Clone(c.Args)
	for _, o := range c.Tool.options(c.Verb, args) {
		if !o.among(c.Tool.nodes) {
			continue
		}
		at := o.at
		if o.begin == 0 {
			at++
		}
		if at == len(args) {
			continue // the tool refuses a flag without its value
		}
		addresses, err := c.addresses(spec, args[at][o.begin:])
		if err != nil {
			return Call{}, err
		}
		args[at] = args[at][:o.begin] + addresses
	}
	c.Args = args
	return c, nil
}

// addresses translates a list of nodes, comma-separated.
func (c Call) addresses(spec *cluster.Cluster, list string) (string, error) {
	var addresses []string
	for word := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(spec.Nodes, func(n cluster.Node) bool { return n.Name == word || same(n.Address, word) })
		if i < 0 {
			return "", fault.Refuse("the nodes of "+c.env+" are "+Describe(spec), "cluster %s has no node %q", spec.Name, printable.Line(word))
		}
		addresses = append(addresses, spec.Nodes[i].Address)
	}
	return strings.Join(addresses, ","), nil
}

// same reports whether a text is the IP address of a node.
func same(address, text string) bool {
	one, _ := netip.ParseAddr(address)
	other, _ := netip.ParseAddr(text) // of a name it is the zero address, which no node has
	return one == other
}

// Describe lists the nodes with their addresses.
func Describe(spec *cluster.Cluster) string {
	var list []string
	for _, n := range spec.Nodes {
		list = append(list, n.Name+" ("+n.Address+")")
	}
	return strings.Join(list, ", ")
}
