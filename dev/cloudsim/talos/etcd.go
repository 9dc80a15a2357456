package talos

import (
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
)

// An etcd is one cluster of etcd.
type etcd struct {
	now    view
	before view // before the last change
}

// A view is what a member sees.
type view struct {
	leader  uint64 // 0: none
	members []member
}

type member struct {
	id      uint64
	name    string
	learner bool
}

func (v view) clone() view { return view{v.leader, slices.Clone(v.members)} }

// begin starts a new etcd on a machine, as Bootstrap does. The lock is held.
func (c *Cluster) begin(n *Node) {
	n.etcd = &etcd{}
	c.etcds = append(c.etcds, n.etcd)
	c.join(n)
	c.settle()
}

// join adds a machine to its etcd: as a learner, which has no name before it starts, unless it is the first. A member of
// its name is removed before, as addMember in internal/app/machined/pkg/system/services/etcd.go does in Talos 1.14. The
// lock is held.
func (c *Cluster) join(n *Node) {
	c.nextID++
	n.member = c.nextID
	e := n.etcd
	e.before = e.now.clone()
	e.now.members = slices.DeleteFunc(e.now.members, func(m member) bool { return m.name == n.hostname() })
	first := len(e.now.members) == 0
	m := member{id: n.member, learner: !first}
	if first {
		m.name = n.hostname()
	}
	e.now.members = append(e.now.members, m)
}

// settle does what the machines do by themselves: workers get their certificates, control planes join the
// first etcd, learners become voters, and the voters that are up elect a leader. The lock is held.
func (c *Cluster) settle() {
	for _, n := range c.nodes {
		if n.waiting {
			_ = n.open()
		}
	}
	for _, e := range c.etcds {
		c.elect(e)
	}
	for _, n := range c.nodes {
		if len(c.etcds) > 0 && n.etcd == nil && n.control() && n.up() && n.stage == running && c.etcds[0].now.leader != 0 {
			n.etcd = c.etcds[0]
			c.join(n)
		}
		if n.etcd == nil || n.faults.Learner || !n.up() {
			continue
		}
		if i := n.etcd.now.index(n.member); i >= 0 && n.etcd.now.members[i].learner {
			n.etcd.before = n.etcd.now.clone()
			m := &n.etcd.now.members[i]
			m.name, m.learner = n.hostname(), m.name == ""
		}
	}
	for _, e := range c.etcds {
		c.elect(e)
	}
}

// elect keeps the leader as long as it is up and the voters that are up are a majority.
func (c *Cluster) elect(e *etcd) {
	var voters, up []uint64
	for _, m := range e.now.members {
		if m.learner {
			continue
		}
		voters = append(voters, m.id)
		if slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.etcd == e && n.member == m.id && n.up() && !n.faults.Mute }) {
			up = append(up, m.id)
		}
	}
	switch {
	case len(up) <= len(voters)/2:
		e.now.leader = 0
	case !slices.Contains(up, e.now.leader):
		e.now.leader = up[0]
	}
}

func (v view) index(id uint64) int {
	return slices.IndexFunc(v.members, func(m member) bool { return m.id == id })
}

// sees returns etcd as the machine sees it. The lock is held.
func (n *Node) sees() view {
	v := n.etcd.now
	if n.faults.Stale && n.etcd.before.index(n.member) >= 0 {
		v = n.etcd.before
	}
	v = v.clone()
	if n.faults.NoLeader {
		v.leader = 0
	}
	return v
}

// Lead makes a machine the leader of its etcd.
func (n *Node) Lead() {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.etcd.now.leader = n.member
}

// control reports whether the machine is a control plane. The lock is held.
func (n *Node) control() bool {
	return n.config != nil && n.config.Machine().Type() == machine.TypeControlPlane
}

// hostname returns the machine's name. The lock is held.
func (n *Node) hostname() string {
	if h := n.config.NetworkHostnameConfig(); h != nil && h.Hostname() != "" {
		return h.Hostname()
	}
	return "talos-" + n.Address
}
