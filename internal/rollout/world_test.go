package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A world is a simulated cluster: what really is, as opposed to what can be read of it. It counts what
// must never happen.
type world struct {
	random   *rand.Rand
	machines []*machine
	members  []Member // of etcd; nil: it has never run
	leader   uint64   // 0: no quorum
	nextID   uint64
	past     []View // etcd as it was
	taken    []Step // the journal
	faulty   bool   // what is read may be old or missing
	wanted   string // the configuration that is wanted
	loses    bool   // a machine may still lose its disk
	fault    string // what must never happen and did
}

type machine struct {
	name       string
	control    bool
	configured bool
	config     string
	restarts   bool // the change of its configuration restarts it
	boot       int
	down       int    // ticks until it is back
	learning   int    // ticks until it votes
	member     uint64 // 0: not a member
	service    int    // starts of its service etcd
	beginning  int    // ticks until etcd begins on it
}

// same reports whether a machine has the wanted configuration.
func (w *world) same(m *machine) bool { return m.config == w.wanted }

func (w *world) machine(name string) *machine {
	return w.machines[slices.IndexFunc(w.machines, func(m *machine) bool { return m.name == name })]
}

func (w *world) up(id uint64) bool {
	return slices.ContainsFunc(w.machines, func(m *machine) bool { return m.member == id && m.down == 0 })
}

// voters counts the voting members and those that are up, without the one with this ID.
func (w *world) voters(without uint64) (all, up int) {
	for _, m := range w.members {
		if m.Learner {
			continue
		}
		all++
		if m.ID != without && w.up(m.ID) {
			up++
		}
	}
	return all, up
}

// tick lets time pass.
func (w *world) tick() {
	for _, m := range w.machines {
		switch {
		case m.down > 0:
			m.down--
		case m.beginning > 0 && w.faulty && w.random.IntN(8) == 0: // its power is cut
			m.boot++
			m.service++
			m.beginning, m.down = 0, 1+w.random.IntN(4)
		case m.beginning > 0:
			if m.beginning--; m.beginning == 0 {
				w.nextID++
				m.member = w.nextID
				w.members = []Member{{ID: m.member, Name: m.name}}
			}
		case m.control && m.configured && m.member == 0 && w.leader != 0: // it joins
			w.members = slices.DeleteFunc(w.members, func(o Member) bool { return o.Name == m.name })
			w.nextID++
			m.member, m.learning = w.nextID, 1+w.random.IntN(3)
			w.members = append(w.members, Member{ID: m.member, Learner: true}) // it has no name before it starts
		case m.learning > 0:
			w.members[slices.IndexFunc(w.members, func(o Member) bool { return o.ID == m.member })].Name = m.name
			if m.learning--; m.learning == 0 {
				w.members[slices.IndexFunc(w.members, func(o Member) bool { return o.ID == m.member })].Learner = false
			}
		}
	}
	defer func() { w.past = append(w.past, View{Leader: w.leader, Members: slices.Clone(w.members)}) }()
	all, up := w.voters(0)
	switch {
	case up <= all/2:
		w.leader = 0
	case w.leader == 0 || !w.up(w.leader):
		for _, m := range w.members {
			if !m.Learner && w.up(m.ID) {
				w.leader = m.ID
			}
		}
	}
}

// take does what a step does to a node that receives it.
func (w *world) take(s Step) {
	m := w.machine(s.Node)
	all, up := w.voters(m.member)
	voted := m.member != 0 && m.learning == 0 && m.down == 0
	switch s.Kind {
	case Configure:
		if m.configured {
			return
		}
		if m.control && len(w.members) > 0 && w.leader == 0 {
			w.fault = "a control plane joins without a quorum"
		}
		m.configured, m.config = true, w.wanted
		m.boot++
		m.down = 1 + w.random.IntN(4)
	case Change:
		if voted && all > 2 && up <= all/2 {
			w.fault = fmt.Sprintf("the change of %s leaves %d of %d members", m.name, up, all)
		}
		// Who only knows how it was may take another for the leader.
		if !w.faulty && m.control && w.leader == m.member && m.member != 0 && slices.ContainsFunc(w.machines, func(o *machine) bool { return o.control && o != m && o.configured && !w.same(o) && o.down == 0 }) {
			w.fault = "the leader is changed before another control plane"
		}
		if slices.ContainsFunc(w.machines, func(o *machine) bool { return o != m && o.control && o.down > 0 && m.control }) {
			w.fault = "two control planes are changed at once"
		}
		m.config = w.wanted
		if m.restarts {
			m.boot++
			m.down = 1 + w.random.IntN(4)
		}
	case Bootstrap:
		if len(w.members) > 0 {
			if m.member == 0 {
				w.fault = "etcd begins a second time on " + m.name
			}
			return // AlreadyExists
		}
		if slices.ContainsFunc(w.machines, func(o *machine) bool { return o.beginning > 0 }) {
			w.fault = "etcd is asked to begin while it does"
		}
		m.service++
		m.beginning = 1 + w.random.IntN(4)
	}
}

// turn changes the world: a new run begins, in which another configuration may be wanted, or a machine loses its disk. Most
// members of etcd keep theirs, and so does one that joins: as long as the new member has no name, a person has to say whose
// it was.
func (w *world) turn() {
	if w.random.IntN(64) == 0 {
		w.wanted = fmt.Sprint(1 + w.random.IntN(3))
		for i := range w.taken {
			w.taken[i].Earlier = true
		}
	}
	m := w.machines[w.random.IntN(len(w.machines))]
	if all, up := w.voters(m.member); w.loses && w.random.IntN(16) == 0 && m.learning == 0 && (m.member == 0 || up > all/2) {
		w.loses, m.configured, m.config, m.member, m.learning, m.beginning = false, false, "", 0, 0, 0
	}
}

// situation is what can be read. At any time a node may be silent, or its view or its boot may be unreadable.
func (w *world) situation(faulty bool) Situation {
	s := Situation{Taken: slices.Clone(w.taken)}
	for _, m := range w.machines {
		n := Node{Name: m.name, Control: m.control, Boot: fmt.Sprint(m.boot), Config: Differs}
		switch {
		case m.down > 0 || faulty && w.random.IntN(8) == 0:
			n.API, n.Config, n.Boot = Silent, Unread, ""
		case !m.configured:
			n.API, n.Boot = Maintenance, ""
		default:
			n.API = Configured
			if w.same(m) {
				n.Config = Same
			}
			if faulty && w.random.IntN(8) == 0 {
				n.Boot = ""
			}
			if m.control && (!faulty || w.random.IntN(8) > 0) {
				n.Etcd = w.view(m, faulty)
			} else if m.control && m.member != 0 && w.random.IntN(2) == 0 {
				n.Etcd = View{Begun: true}
			}
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// view is etcd as one control plane sees it: with faults, now and then as it was.
func (w *world) view(m *machine, faulty bool) View {
	if m.member == 0 {
		return View{Known: true, Empty: true, Service: fmt.Sprint(m.service)}
	}
	v := View{Known: true, Self: m.member, Leader: w.leader, Members: slices.Clone(w.members)}
	if faulty && w.random.IntN(8) == 0 {
		if old := w.past[w.random.IntN(len(w.past))]; slices.ContainsFunc(old.Members, func(o Member) bool { return o.ID == m.member }) {
			v.Leader, v.Members = old.Leader, slices.Clone(old.Members)
		}
	}
	return v
}

// newWorld is a cluster of which some nodes run, and some are new.
func newWorld(random *rand.Rand) *world {
	w := &world{random: random, wanted: "1", loses: true}
	running := random.IntN(2) == 0
	for i := range 1 + 2*random.IntN(3) {
		w.machines = append(w.machines, &machine{name: fmt.Sprintf("control-%d", i), control: true, configured: running && random.IntN(5) > 0, restarts: random.IntN(2) == 0})
	}
	for i := range random.IntN(3) {
		w.machines = append(w.machines, &machine{name: fmt.Sprintf("worker-%d", i), configured: running && random.IntN(2) == 0, restarts: random.IntN(2) == 0})
	}
	for _, m := range w.machines {
		if m.configured && random.IntN(3) == 0 {
			m.config = w.wanted
		}
		if m.control && m.configured {
			w.nextID++
			m.member = w.nextID
			w.members = append(w.members, Member{ID: m.member, Name: m.name})
		}
	}
	// Some have lost their disks: not most of them, or etcd is lost.
	for _, m := range w.machines {
		if all, up := w.voters(m.member); m.control && m.member != 0 && random.IntN(4) == 0 && up > all/2 {
			m.configured, m.config, m.member = false, "", 0
		}
	}
	w.tick()
	return w
}

// rollOut asks for the next step until there is none. With faults, nodes cannot be read now and then,
// and the rollout is cut at any point: between the journal and the node, or after it.
func (w *world) rollOut(faulty bool) error {
	w.faulty = faulty
	for range 2000 {
		s := w.situation(faulty)
		a := Next(s)
		switch a.Verdict {
		case Done:
			return w.end()
		case Refuse:
			return fmt.Errorf("it refuses: %s", a.Reason)
		case Go:
			s.Nodes[w.random.IntN(len(s.Nodes))].Owner = "another"
			if owned := Next(s); owned.Verdict != Refuse {
				return fmt.Errorf("in the cluster of another: %s %+v", owned.Verdict, owned.Step)
			}
			a.Step.Restart = a.Step.Kind == Configure || a.Step.Kind == Change && w.machine(a.Step.Node).restarts
			w.taken = append(w.taken, a.Step)
			if !faulty || w.random.IntN(4) > 0 {
				w.take(a.Step)
			}
		}
		if w.fault != "" {
			return fmt.Errorf("%s", w.fault)
		}
		w.tick()
		if faulty {
			w.turn()
		}
	}
	return fmt.Errorf("it does not end: %s", Next(w.situation(false)).Reason)
}

func (w *world) end() error {
	all, up := w.voters(0)
	for _, m := range w.machines {
		if !m.configured || !w.same(m) || m.down > 0 {
			return fmt.Errorf("%s is not as wanted at the end", m.name)
		}
		if m.control {
			all--
		}
	}
	if all != 0 || up != len(w.members) {
		return fmt.Errorf("%d of %d members are up at the end", up, len(w.members))
	}
	return nil
}

// Whatever a cluster consists of, and whenever a rollout is cut, no quorum is lost by it, no second
// etcd begins, and it ends. No step is taken while another program owns a node.
func TestRollouts(t *testing.T) {
	runs := 20_000
	if !testing.Short() {
		runs = 1_000_000
	}
	for seed := range uint64(runs) {
		for _, faulty := range []bool{false, true} {
			w := newWorld(rand.New(rand.NewPCG(seed, 1)))
			if err := w.rollOut(faulty); err != nil {
				t.Fatalf("seed %d, faulty %t: %v", seed, faulty, err)
			}
		}
	}
}
