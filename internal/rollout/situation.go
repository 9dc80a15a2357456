// Package rollout decides the order in which the nodes of a Talos cluster are changed. It is a pure
// function from the situation, as the nodes and the members of etcd themselves report it, to the
// next single step: it has no memory, talks to nobody and takes no time.
//
// What could not be read is unknown, which is never the same as empty.
package rollout

// A Situation is all that is known about a cluster, and what is wanted of it.
type Situation struct {
	Nodes []Node // in the order of cluster.yaml
	Taken []Step // steps of this rollout, and of earlier runs that were interrupted; each may never have reached its node
	Lost  bool   // the caller says that the quorum is lost: nothing waits for other control planes
}

// A Node is one that cluster.yaml names.
type Node struct {
	Name    string
	Control bool // a control plane, and so a member of etcd
	API     API
	Boot    string // identifies the boot; empty: unknown
	Busy    bool   // it starts, restarts, installs or upgrades right now
	Owner   string // another program that changes it; empty: none
	Config  Config
	Etcd    View // of control planes
}

// An API is how a node's API answers.
type API string

const (
	Silent      API = "silent"      // not at all: the node is unknown
	Stranger    API = "stranger"    // with a certificate of another cluster
	Maintenance API = "maintenance" // without a configuration
	Configured  API = "configured"  // with this cluster's certificate
)

// A Config compares a node's configuration with the wanted one.
type Config string

const (
	Unread  Config = ""        // unknown
	Same    Config = "same"    // the wanted one
	Differs Config = "differs" // another one, or none
)

// A View is etcd as one control plane sees it. That of a worker is empty.
type View struct {
	Known   bool
	Begun   bool     // etcd has run here, although its view is not known
	Empty   bool     // etcd has never run here
	Service string   // identifies the machine's service etcd, which Bootstrap replaces; known if Empty
	Self    uint64   // its own member
	Leader  uint64   // 0: it sees none
	Members []Member // empty if Empty, or not Known
	Alarms  []string
}

// A Member is one member of etcd.
type Member struct {
	ID      uint64
	Name    string // of the node; empty: it has been added, and has not started yet
	Learner bool   // it does not vote yet
}

// A Step is one change of one node.
type Step struct {
	Kind    Kind
	Node    string
	Boot    string // of the node before the step
	Service string // of Bootstrap: the node's service etcd before the step
	Restart bool   // the node restarts because of it
	Earlier bool   // an earlier run took it, which may have wanted another configuration
}

// A Kind is what a step does.
type Kind string

const (
	Configure Kind = "configure" // gives a configuration to a node that has none
	Change    Kind = "change"    // replaces the configuration of a node
	Bootstrap Kind = "bootstrap" // begins etcd, once in the life of a cluster
)

// An Answer is what to do next.
type Answer struct {
	Verdict Verdict
	Step    Step   // if it is Go
	Reason  string // one lower-case sentence
}

// A Verdict is the kind of an answer.
type Verdict string

const (
	Go     Verdict = "go"     // take the step
	Wait   Verdict = "wait"   // ask again: something is under way
	Refuse Verdict = "refuse" // a person must act
	Done   Verdict = "done"   // the cluster is as wanted
)
