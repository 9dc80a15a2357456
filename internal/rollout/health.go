package rollout

import (
	"cmp"
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
	return s.unhealthy()
}

// unhealthy says why etcd could lose its quorum if the control planes called except failed now: another
// one is not a healthy member, or they do not agree. It returns "" if nothing is wrong.
func (s Situation) unhealthy(except ...string) string {
	var first *Node
	for i, n := range s.Nodes {
		// A node that has never been a member, and is no part of the cluster yet, cannot be missing.
		apart := (n.API == Maintenance || n.API == Silent) && slices.ContainsFunc(s.Nodes, Node.hasEtcd) && !s.isMember(n.Name)
		if !n.Control || slices.Contains(except, n.Name) || apart {
			continue
		}
		if why := ill(n, except...); why != "" {
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
		if !slices.Contains(except, m.Name) && !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Etcd.Self == m.ID }) {
			return fmt.Sprintf("etcd has a member %s that %s no longer is", m.Name, m.Name)
		}
	}
	return ""
}

// unableToAdd says why a new control plane, called name, cannot join etcd; "" if it can. Members that have lost their disks
// cannot be repaired but by joining, so those that are left need not wait for them as long as they are a quorum.
func (s Situation) unableToAdd(name string) string {
	gone := []string{name}
	lost := 0
	var members []Member
	for _, n := range s.Nodes {
		switch {
		case n.hasEtcd():
			members = n.Etcd.Members
		case n.API == Maintenance && s.isMember(n.Name):
			gone = append(gone, n.Name)
			lost++
		}
	}
	if why := s.unhealthy(gone...); why != "" {
		return why
	}
	if len(members)-lost <= len(members)/2 {
		return "most members of etcd have lost their disks"
	}
	return ""
}

// ill says what is wrong with a control plane, as far as it says itself; "" if nothing is. Whether
// those called except are learners does not count.
func ill(n Node, except ...string) string {
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
		if m.Name == "" {
			return "a new member of etcd has not started yet"
		}
		if m.Learner && !slices.Contains(except, m.Name) {
			return m.Name + " is still a learner of etcd"
		}
	}
	if !slices.ContainsFunc(n.Etcd.Members, func(m Member) bool { return m.ID == n.Etcd.Self && m.Name == n.Name }) {
		return n.Name + " is not among the members of etcd that it sees"
	}
	return ""
}

func sameMembers(a, b []Member) bool {
	byID := func(a, b Member) int { return cmp.Compare(a.ID, b.ID) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byID), slices.SortedFunc(slices.Values(b), byID))
}
