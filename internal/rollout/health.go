package rollout

import (
	"fmt"
	"slices"
)

// Unhealthy says why etcd has less than all its members, or they do not agree; "" if nothing is wrong.
func Unhealthy(s Situation) string {
	if !begun(s) {
		return "etcd is not known to have begun on any control plane"
	}
	if a, wrong := foreign(s); wrong {
		return a.Reason
	}
	return s.unhealthy("")
}

// unhealthy says why etcd could lose its quorum if the control plane called except failed now: another
// one is not a healthy member, or they do not agree. It returns "" if nothing is wrong. An empty
// except leaves out none.
func (s Situation) unhealthy(except string) string {
	var first *Node
	for i, n := range s.Nodes {
		// A node that has never been a member, and is no part of the cluster yet, cannot be missing.
		apart := (n.API == Maintenance || n.API == Silent) && slices.ContainsFunc(s.Nodes, Node.hasEtcd) && !s.isMember(n.Name)
		if !n.Control || n.Name == except || apart {
			continue
		}
		if why := ill(n, except); why != "" {
			return why
		}
		switch {
		case first == nil:
			first = &s.Nodes[i]
		case !sameMembers(first.Etcd.Members, n.Etcd.Members):
			return fmt.Sprintf("%s and %s see different members of etcd", first.Name, n.Name)
		case first.Etcd.Leader != n.Etcd.Leader:
			return fmt.Sprintf("%s and %s see different leaders of etcd", first.Name, n.Name)
		}
	}
	if first == nil {
		return ""
	}
	for _, m := range first.Etcd.Members {
		if m.Name != except && !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.hasEtcd() && n.Etcd.Self == m.ID }) {
			return fmt.Sprintf("etcd has a member %s that %s no longer is", m.Name, m.Name)
		}
	}
	return ""
}

// ill says what is wrong with a control plane, as far as it says itself; "" if nothing is. Whether
// the one called except is a learner does not count.
func ill(n Node, except string) string {
	switch {
	case n.API == Maintenance:
		return n.Name + " has no configuration"
	case n.API != Configured:
		return n.Name + " does not answer"
	case n.Busy:
		return n.Name + " is busy"
	case !n.Etcd.Known:
		return "it is not known which members of etcd " + n.Name + " sees"
	case n.Etcd.Empty:
		return n.Name + " has not joined etcd yet"
	case n.Etcd.Leader == 0:
		return n.Name + " sees no leader of etcd"
	}
	for _, m := range n.Etcd.Members {
		if m.Learner && m.Name != except {
			return m.Name + " is still a learner of etcd"
		}
	}
	if !slices.ContainsFunc(n.Etcd.Members, func(m Member) bool { return m.ID == n.Etcd.Self && m.Name == n.Name }) {
		return n.Name + " is not among the members of etcd that it sees"
	}
	return ""
}

func sameMembers(a, b []Member) bool {
	byID := func(a, b Member) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	}
	return slices.Equal(slices.SortedFunc(slices.Values(a), byID), slices.SortedFunc(slices.Values(b), byID))
}
