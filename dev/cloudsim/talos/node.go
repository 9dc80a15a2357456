package talos

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"

	talosx509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
)

// Port is the one at which machines answer.
const Port = "50000"

// A Node is one machine.
type Node struct {
	Address string
	Version string // of Talos

	cluster  *Cluster
	listener net.Listener
	self     tls.Certificate // of maintenance mode
	busy     sync.WaitGroup

	// Guarded by the cluster's lock.
	door      *door // nil: the machine is off, or starting
	stage     stage
	config    config.Provider // nil: none
	persisted config.Provider // the next boot reads it
	waiting   bool            // a worker without a certificate, which it gets from a control plane
	boots     int
	member    uint64 // of etcd; 0: none
	etcd      *etcd
	service   int  // starts of its service etcd
	beginning int  // listings of etcd's folder until etcd begins in it, after Bootstrap
	stopped   bool // its service etcd, for good
	faults    Faults
}

// A stage is the part of a machine's life that it says it is in.
type stage string

const (
	maintenance stage = "maintenance"
	booting     stage = "booting"
	running     stage = "running"
)

// Faults are what goes wrong with a machine. The zero value is a healthy one.
type Faults struct {
	Silent   bool   // it does not answer
	Booting  bool   // it does not get beyond this stage
	Learner  bool   // it stays a learner of etcd
	Alarm    string // of its etcd, such as NOSPACE
	Rejects  string // it refuses each configuration with this message
	Forgets  bool   // it boots with its former configuration
	Stale    bool   // it sees etcd as it was before the last change
	NoLeader bool   // it sees no leader of etcd
	Mute     bool   // its etcd does not answer
	Full     bool   // its disk is full, so it keeps no new configuration, and says so

	// Of its Kubernetes node: other programs mark the nodes that they change.
	Labels, Annotations map[string]string
}

// Set sets what goes wrong from now on.
func (n *Node) Set(f Faults) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.faults = f
	if n.stage == booting && !f.Booting {
		n.stage = running
	}
	n.cluster.settle()
}

// Boots counts how often the machine has started with a configuration.
func (n *Node) Boots() int {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	return n.boots
}

// Config returns the configuration with which the machine runs; nil: none.
func (n *Node) Config() config.Provider {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	return n.config
}

// Fingerprint returns that of the certificate that the machine shows in maintenance mode, as its console
// prints it: see maintenance_service_inform.go in Talos 1.14.
func (n *Node) Fingerprint() string {
	f, err := talosx509.SPKIFingerprintFromDER(n.self.Certificate[0])
	if err != nil {
		panic(err) // it was made by selfSigned
	}
	return f.String()
}

// start puts the machine on the network.
func (n *Node) start() (err error) {
	if n.self, err = selfSigned(n.Address); err != nil {
		return err
	}
	if n.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(n.Address, Port)); err != nil {
		return err
	}
	n.busy.Go(n.accept)
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	return n.open()
}

// accept hands connections to the server of the machine's stage. One that is off, or silent, closes them.
func (n *Node) accept() {
	for {
		conn, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.cluster.mu.Lock()
		d := n.door
		if n.faults.Silent {
			d = nil
		}
		n.cluster.mu.Unlock()
		if d == nil || !d.enter(conn) {
			_ = conn.Close()
		}
	}
}

// Reboot restarts the machine with the configuration that it has kept. It returns when the machine
// answers again.
func (n *Node) Reboot() error {
	n.cluster.mu.Lock()
	d := n.door
	n.door = nil
	n.cluster.settle() // others see that it is gone
	n.cluster.mu.Unlock()
	if d != nil {
		d.shut()
	}
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	if n.faults.Forgets && n.config != nil {
		n.persisted = n.config
	}
	if n.persisted != nil {
		n.config = n.persisted
		n.boots++
		n.service++
		n.beginning, n.stopped = 0, false
		n.stage = running
		if n.faults.Booting {
			n.stage = booting
		}
	}
	err := n.open()
	n.cluster.settle()
	return err
}

// Wipe makes the machine one without a configuration, as a reset does.
func (n *Node) Wipe() error {
	n.cluster.mu.Lock()
	n.config, n.persisted, n.etcd, n.member, n.stage = nil, nil, nil, 0, maintenance
	n.cluster.mu.Unlock()
	return n.Reboot()
}

// open answers calls as the machine does in its stage. The lock is held.
func (n *Node) open() (err error) {
	n.door, err = newDoor(n)
	n.waiting = errors.Is(err, errNoIssuer)
	if n.waiting {
		return nil
	}
	return err
}

func (n *Node) close() {
	_ = n.listener.Close()
	n.cluster.mu.Lock()
	d := n.door
	n.door = nil
	n.cluster.mu.Unlock()
	if d != nil {
		d.slam()
	}
	n.busy.Wait()
}

// up reports whether the machine takes part in the cluster. The lock is held.
func (n *Node) up() bool { return n.door != nil && !n.faults.Silent && n.config != nil }

// bootID identifies the boot. The lock is held.
func (n *Node) bootID() string { return fmt.Sprintf("boot-%d-of-%s", n.boots, n.Address) }
