// Package talos simulates the machine API of Talos nodes: maintenance mode, certificates, configurations,
// etcd, and what goes wrong with them. It answers with the protocol of Talos itself. Which answer comes
// from where in Talos is said beside it.
package talos

import (
	"fmt"
	"sync"
)

// A Cluster is a set of machines that can reach each other. Each has an address of its own.
type Cluster struct {
	mu     sync.Mutex
	nodes  []*Node
	etcds  []*etcd // more than one is the accident that must not happen
	nextID uint64

	// Calls, if it is not nil, is called before each call to a machine with the machine's address and the
	// name of the method. Its error is the answer.
	Calls func(address, method string) error

	// Answers, if it is not nil, is called when a machine has done what it was asked. Its error is sent
	// instead of the answer, which is lost.
	Answers func(address, method string) error
}

// New returns a cluster without machines.
func New() *Cluster { return &Cluster{nextID: 100} }

// Add starts a machine without a configuration that runs this version of Talos.
func (c *Cluster) Add(address, version string) (*Node, error) {
	n := &Node{Address: address, Version: version, cluster: c, stage: maintenance}
	if err := n.start(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.nodes = append(c.nodes, n)
	c.mu.Unlock()
	return n, nil
}

// Close stops the machines.
func (c *Cluster) Close() {
	for _, n := range c.nodes {
		n.close()
	}
}

// Etcds counts the clusters of etcd that have ever begun.
func (c *Cluster) Etcds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.etcds)
}

// Node returns the machine at an address.
func (c *Cluster) Node(address string) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if n.Address == address {
			return n
		}
	}
	panic(fmt.Sprintf("there is no machine at %s", address))
}
