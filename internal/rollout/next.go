package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// Next returns the next step, or why there is none.
//
// A control plane is only changed while every other one is a voting member of etcd, and all of them
// see the same members and the same leader. The leader is changed last. A control plane that is not
// healthy itself is changed first, because that can repair it. Nodes without a configuration take
// part in nothing, so they do not wait for each other until etcd has begun.
//
// No step is taken while another program owns a node.
func Next(s Situation) Answer {
	for _, rule := range []func(Situation) (Answer, bool){foreign, restarting, configure, joining, begin, change, settle} {
		if answer, decided := rule(s); decided {
			return unlessOwned(s, answer)
		}
	}
	return Answer{Verdict: Done, Reason: "every node has its configuration, and every control plane is a healthy member of etcd"}
}

// unlessOwned refuses a step in a cluster that another program changes: neither waits for the other.
func unlessOwned(s Situation, a Answer) Answer {
	owned := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Owner != "" })
	if a.Verdict != Go || owned < 0 {
		return a
	}
	n := s.Nodes[owned]
	refusal, _ := refuse("%s belongs to %s, which changes its nodes itself", n.Name, n.Owner)
	return refusal
}

func wait(format string, args ...any) (Answer, bool) {
	return Answer{Verdict: Wait, Reason: fmt.Sprintf(format, args...)}, true
}

func refuse(format string, args ...any) (Answer, bool) {
	return Answer{Verdict: Refuse, Reason: fmt.Sprintf(format, args...)}, true
}

func step(kind Kind, n Node, format string, args ...any) (Answer, bool) {
	s := Step{Kind: kind, Node: n.Name, Boot: n.Boot}
	if kind == Bootstrap {
		s.Service = n.Etcd.Service
	}
	return Answer{Verdict: Go, Step: s, Reason: fmt.Sprintf(format, args...)}, true
}

// foreign refuses to touch anything while something belongs to another cluster, or is damaged.
func foreign(s Situation) (Answer, bool) {
	for i, n := range s.Nodes {
		if n.API == Stranger {
			return refuse("%s belongs to another cluster: its certificate is not from this one's authority", n.Name)
		}
		if !n.hasEtcd() {
			continue
		}
		if len(n.Etcd.Alarms) > 0 {
			return refuse("etcd has the alarm %s on %s", strings.Join(n.Etcd.Alarms, " and "), n.Name)
		}
		// A view may be old, but of two members of one cluster at least the younger one knows the other.
		for _, other := range s.Nodes[:i] {
			if other.hasEtcd() && !n.Etcd.has(other.Etcd.Self) && !other.Etcd.has(n.Etcd.Self) {
				return refuse("%s and %s are members of two different clusters of etcd", other.Name, n.Name)
			}
		}
		for _, m := range n.Etcd.Members {
			if m.Name != "" && !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Control && n.Name == m.Name }) {
				return refuse("etcd has the member %q, which is not a control plane in cluster.yaml", m.Name)
			}
		}
		if s.Lost && n.Etcd.Leader != 0 {
			return refuse("the quorum is not lost: %s sees a leader of etcd", n.Name)
		}
	}
	return Answer{}, false
}

func (n Node) hasEtcd() bool { return n.Etcd.Known && !n.Etcd.Empty }

func (v View) has(id uint64) bool {
	return slices.ContainsFunc(v.Members, func(m Member) bool { return m.ID == id })
}

// begun reports whether etcd has ever run on some control plane.
func begun(s Situation) bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.hasEtcd() || n.Etcd.Begun })
}

// restarting waits for changes of nodes to end.
func restarting(s Situation) (Answer, bool) {
	for i, t := range s.Taken {
		n, there := s.node(t.Node)
		switch {
		case !there || t.Kind != Change || n.API == Maintenance: // one without a configuration begins again
		case n.API == Silent:
			return wait("%s has been changed and does not answer", n.Name)
		case n.Busy:
			return wait("%s has been changed and is busy", n.Name)
		case n.Config == Unread:
			return wait("%s has been changed, and its configuration could not be read", n.Name)
		case t.Earlier: // whoever repeats a run wants the change to be tried again
		case slices.ContainsFunc(s.Taken[i+1:], func(later Step) bool { return later.Kind != Bootstrap && later.Node == t.Node }):
		case n.Boot == "":
			return wait("%s has been changed, and its boot could not be read", n.Name)
		case n.Config == Differs && n.Boot != t.Boot:
			return refuse("%s did not keep the configuration that it was given", n.Name)
		case n.Config == Same && t.Restart && n.Boot == t.Boot:
			return wait("%s has been changed and has not restarted yet", n.Name)
		}
	}
	return Answer{}, false
}

func (s Situation) node(name string) (Node, bool) {
	i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return s.Nodes[i], true
}

func (s Situation) took(kind Kind, node string) bool {
	return slices.ContainsFunc(s.Taken, func(t Step) bool { return t.Kind == kind && t.Node == node })
}

// configure gives a configuration to a node that has none, control planes first. While etcd runs, a
// new control plane changes its quorum, so only one joins at a time. One that has lost its disk replaces its member:
// Talos removes a member of the same name before it joins (addMember in internal/app/machined/pkg/system/services/etcd.go).
func configure(s Situation) (Answer, bool) {
	var blocked Answer // the first
	for _, n := range s.ordered() {
		if n.API != Maintenance || n.Busy {
			continue
		}
		was := s.isMember(n.Name)
		if n.Control && begun(s) && (!s.Lost || was) {
			if why := s.unableToAdd(n.Name); why != "" {
				if blocked.Verdict == "" {
					blocked, _ = wait("%s has no configuration, and cannot join: %s", n.Name, why)
				}
				continue
			}
		}
		if was {
			return step(Configure, n, "%s has no configuration, and replaces the member of etcd that it was", n.Name)
		}
		return step(Configure, n, "%s has no configuration", n.Name)
	}
	return blocked, blocked.Verdict != ""
}

// isMember reports whether any control plane sees a member of etcd of that name.
func (s Situation) isMember(name string) bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool {
		return slices.ContainsFunc(n.Etcd.Members, func(m Member) bool { return m.Name == name })
	})
}

// leads reports whether any control plane, or the node itself, sees it lead etcd.
func (s Situation) leads(name string) bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool {
		return slices.ContainsFunc(n.Etcd.Members, func(m Member) bool { return m.Name == name && m.ID == n.Etcd.Leader })
	})
}

// ordered returns the control planes and then the workers.
func (s Situation) ordered() []Node {
	nodes := slices.Clone(s.Nodes)
	slices.SortStableFunc(nodes, func(a, b Node) int {
		switch {
		case a.Control == b.Control:
			return 0
		case a.Control:
			return -1
		}
		return 1
	})
	return nodes
}

// joining waits for nodes that have just been given their first configuration.
func joining(s Situation) (Answer, bool) {
	for _, n := range s.Nodes {
		if s.took(Configure, n.Name) && (n.API != Configured || n.Busy) {
			return wait("%s has its first configuration and is starting", n.Name)
		}
	}
	return Answer{}, false
}

// begin starts etcd if it has never run, which every control plane has to say itself. It stays with
// the node that it has asked once: Talos refuses to begin twice on one node, not on two. It asks again only if the
// request cannot have arrived: an etcd that is about to begin would be stopped by it.
func begin(s Situation) (Answer, bool) {
	if begun(s) {
		return Answer{}, false
	}
	var controls []Node
	for _, n := range s.Nodes {
		switch {
		case !n.Control:
		case n.API != Configured:
			return wait("%s does not answer, so it is not known whether etcd has ever run on it", n.Name)
		case !n.Etcd.Known:
			return wait("it is not known whether etcd has ever run on %s", n.Name)
		case n.Boot == "":
			return wait("the boot of %s could not be read", n.Name)
		case n.Busy:
			return wait("%s is busy", n.Name)
		default:
			controls = append(controls, n)
		}
	}
	if len(controls) == 0 {
		return refuse("cluster.yaml has no control plane")
	}
	chosen := controls[0]
	for _, t := range s.Taken {
		i := slices.IndexFunc(controls, func(n Node) bool { return n.Name == t.Node })
		if t.Kind != Bootstrap || i < 0 {
			continue
		}
		chosen = controls[i]
		if t.Boot == chosen.Boot && t.Service != chosen.Etcd.Service {
			return wait("etcd is about to begin on %s", chosen.Name)
		}
	}
	return step(Bootstrap, chosen, "etcd has never run on any control plane")
}

// change replaces the configuration of one node: of control planes that are not healthy, of others,
// of the leader, of workers.
func change(s Situation) (Answer, bool) {
	var pending []Node
	for _, n := range s.ordered() {
		if !n.Busy && n.Config == Differs { // configure has decided on those that have none
			pending = append(pending, n)
		}
	}
	if len(pending) == 0 {
		return Answer{}, false
	}
	rank := func(n Node) int {
		switch {
		case !n.Control:
			return 3
		case s.leads(n.Name):
			return 2
		case ill(n) != "":
			return 0
		}
		return 1
	}
	slices.SortStableFunc(pending, func(a, b Node) int { return rank(a) - rank(b) })
	first := pending[0]
	if first.Boot == "" {
		return wait("%s has another configuration, and its boot could not be read", first.Name)
	}
	if s.Lost && first.Control {
		return step(Change, first, "%s has another configuration, and the quorum is lost", first.Name)
	}
	var except []string
	if first.Control {
		except = []string{first.Name}
	}
	if why := s.unhealthy(except...); why != "" {
		return wait("%s has another configuration, and has to wait: %s", first.Name, why)
	}
	return step(Change, first, "%s has another configuration", first.Name)
}

// settle waits until everything is as wanted, and is known to be.
func settle(s Situation) (Answer, bool) {
	for _, n := range s.Nodes {
		switch {
		case n.API == Silent:
			return wait("%s does not answer", n.Name)
		case n.Busy:
			return wait("%s is busy", n.Name)
		case n.Config != Same:
			return wait("the configuration of %s could not be read", n.Name)
		}
	}
	if why := s.unhealthy(); why != "" {
		return wait("%s", why)
	}
	return Answer{}, false
}
