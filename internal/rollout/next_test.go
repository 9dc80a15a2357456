package rollout

import (
	"slices"
	"strings"
	"testing"
)

// healthy is a cluster of three control planes, of which b leads, and two workers: nothing is to be
// done.
func healthy() Situation {
	members := []Member{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "c"}}
	control := func(name string, self uint64) Node {
		return Node{Name: name, Control: true, API: Configured, Boot: "boot-" + name, Config: Same, Etcd: View{Known: true, Self: self, Leader: 2, Members: slices.Clone(members)}}
	}
	worker := func(name string) Node {
		return Node{Name: name, API: Configured, Boot: "boot-" + name, Config: Same}
	}
	return Situation{Nodes: []Node{worker("x"), control("a", 1), control("b", 2), control("c", 3), worker("y")}}
}

// fresh is the same without configurations.
func fresh() Situation {
	s := healthy()
	for i := range s.Nodes {
		s.Nodes[i].API, s.Nodes[i].Config, s.Nodes[i].Etcd = Maintenance, Differs, View{}
	}
	return s
}

// waiting is the same with configurations, and without etcd.
func waiting() Situation {
	s := healthy()
	for i := range s.Nodes {
		s.Nodes[i].Etcd = View{Known: s.Nodes[i].Control, Empty: s.Nodes[i].Control}
	}
	return s
}

func (s Situation) at(name string) *Node {
	return &s.Nodes[slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == name })]
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		from   func() Situation
		change func(s *Situation)
		want   Verdict
		step   string // its kind and node
		reason string
	}{
		"nothing to do": {healthy, func(*Situation) {}, Done, "", "every node has its configuration"},

		// The order.
		"a control plane before a worker":     {healthy, func(s *Situation) { s.at("x").Config, s.at("c").Config = Differs, Differs }, Go, "change c", "c has another configuration"},
		"the leader after another":            {healthy, func(s *Situation) { s.at("b").Config, s.at("c").Config = Differs, Differs }, Go, "change c", ""},
		"the leader before a worker":          {healthy, func(s *Situation) { s.at("b").Config, s.at("x").Config = Differs, Differs }, Go, "change b", ""},
		"workers in their order":              {healthy, func(s *Situation) { s.at("x").Config, s.at("y").Config = Differs, Differs }, Go, "change x", ""},
		"what can be repaired, first":         {healthy, func(s *Situation) { s.at("a").Config, s.at("c").Config, s.at("c").Etcd = Differs, Differs, View{} }, Go, "change c", ""},
		"the leader's own view is unreadable": {healthy, func(s *Situation) { s.at("b").Config, s.at("c").Config, s.at("b").Etcd = Differs, Differs, View{} }, Wait, "", "c has another configuration, and has to wait: it is not known which members of etcd b sees"},
		"a control plane without one, first":  {fresh, func(*Situation) {}, Go, "configure a", "a has no configuration"},
		"a node of two with one, meanwhile":   {fresh, func(s *Situation) { s.Taken = []Step{{Kind: Configure, Node: "a"}}; s.at("a").API = Silent }, Go, "configure b", ""},
		"all of them are starting":            {fresh, func(s *Situation) { s.take(Configure, "a", "b", "c", "x", "y"); s.silence("a", "b", "c", "x", "y") }, Wait, "", "x has its first configuration and is starting"},
		"one that joins, alone":               {healthy, func(s *Situation) { s.lack("c"); s.lack("a") }, Go, "configure a", ""},
		"one that joins after the one before": {healthy, func(s *Situation) {
			s.lack("c")
			s.lack("a")
			s.take(Configure, "a")
			s.at("a").API, s.at("a").Etcd = Configured, View{Known: true, Empty: true}
		}, Wait, "", "c has no configuration, and cannot join: a has not joined etcd yet"},
		"one that has lost its disk":         {healthy, func(s *Situation) { s.wipe("a") }, Go, "configure a", "a has no configuration, and replaces the member of etcd that it was"},
		"one of them, and another is ill":    {healthy, func(s *Situation) { s.wipe("a"); s.silence("c") }, Wait, "", "a has no configuration, and cannot join: c does not answer"},
		"one of them, and a worker":          {healthy, func(s *Situation) { s.wipe("a"); s.silence("c"); s.at("x").API = Maintenance }, Go, "configure x", ""},
		"most of them have lost their disks": {healthy, func(s *Situation) { s.wipe("a"); s.wipe("b") }, Wait, "", "a has no configuration, and cannot join: most members of etcd have lost their disks"},
		"most of them, and the caller knows": {healthy, func(s *Situation) { s.wipe("a"); s.wipe("b"); s.noLeader(); s.Lost = true }, Wait, "", "a has no configuration, and cannot join: c sees no leader of etcd"},
		"two of four":                        {healthy, func(s *Situation) { s.grow("d"); s.wipe("a"); s.wipe("b") }, Wait, "", "most members of etcd have lost their disks"},
		"two of five":                        {healthy, func(s *Situation) { s.grow("d"); s.grow("e"); s.wipe("a"); s.wipe("c") }, Go, "configure a", ""},
		"two of five, of which one has not joined": {healthy, func(s *Situation) {
			s.grow("d")
			s.grow("e")
			s.wipe("a")
			s.wipe("c")
			s.take(Configure, "a")
			s.at("a").API, s.at("a").Etcd = Configured, View{Known: true, Empty: true}
		}, Wait, "", "c has no configuration, and cannot join: a has not joined etcd yet"},
		"a worker joins whatever etcd does": {healthy, func(s *Situation) { s.at("a").API = Silent; s.at("x").API = Maintenance }, Go, "configure x", ""},

		// The health of the others.
		"another is silent":             {healthy, func(s *Situation) { s.at("a").Config = Differs; s.silence("c") }, Wait, "", "a has another configuration, and has to wait: c does not answer"},
		"another is busy":               {healthy, func(s *Situation) { s.at("a").Config = Differs; s.at("c").Busy = true }, Wait, "", "c is busy"},
		"another cannot be asked":       {healthy, func(s *Situation) { s.at("a").Config = Differs; s.at("c").Etcd = View{} }, Wait, "", "it is not known which members of etcd c sees"},
		"another has not joined":        {healthy, func(s *Situation) { s.at("a").Config = Differs; s.at("c").Etcd = View{Known: true, Empty: true} }, Wait, "", "c has not joined etcd yet"},
		"another sees no leader":        {healthy, func(s *Situation) { s.at("a").Config = Differs; s.at("c").Etcd.Leader = 0 }, Wait, "", "c sees no leader of etcd"},
		"another sees another leader":   {healthy, func(s *Situation) { s.at("a").Config = Differs; s.at("c").Etcd.Leader = 1 }, Wait, "", "b and c see different leaders of etcd"},
		"another sees other members":    {healthy, func(s *Situation) { s.at("a").Config = Differs; s.at("c").Etcd.Members = s.at("c").Etcd.Members[1:] }, Wait, "", "b and c see different members of etcd"},
		"another is a learner":          {healthy, func(s *Situation) { s.at("a").Config = Differs; s.learner("c") }, Wait, "", "c is still a learner of etcd"},
		"a member that has not started": {healthy, func(s *Situation) { s.at("a").Config = Differs; s.member(Member{ID: 9, Learner: true}) }, Wait, "", "a has another configuration, and has to wait: a new member of etcd has not started yet"},
		"one that joins after another":  {healthy, func(s *Situation) { s.lack("a"); s.member(Member{ID: 9, Learner: true}) }, Wait, "", "a has no configuration, and cannot join: a new member of etcd has not started yet"},
		"it is the learner itself":      {healthy, func(s *Situation) { s.at("c").Config = Differs; s.learner("c") }, Go, "change c", ""},
		"another has another name": {healthy, func(s *Situation) {
			s.at("a").Config = Differs
			s.each(func(v *View) { v.Members[2].Name = "a" })
		}, Wait, "", "c is not among the members of etcd that it sees"},
		"another sees them in another order": {healthy, func(s *Situation) { s.at("a").Config = Differs; slices.Reverse(s.at("c").Etcd.Members) }, Go, "change a", ""},
		"another is not there yet":           {healthy, func(s *Situation) { s.at("a").Config = Differs; s.lack("c"); s.silence("c") }, Go, "change a", ""},
		"another is not what it was":         {healthy, func(s *Situation) { s.at("a").Config = Differs; s.at("c").Etcd.Self = 9 }, Wait, "", "c is not among the members of etcd that it sees"},
		"a member that nobody is":            {healthy, func(s *Situation) { s.at("a").Config = Differs; s.member(Member{ID: 9, Name: "c"}) }, Wait, "", "etcd has a member c that c no longer is"},
		"a worker waits for control planes":  {healthy, func(s *Situation) { s.at("x").Config = Differs; s.silence("c") }, Wait, "", "x has another configuration, and has to wait: c does not answer"},
		"a worker does not wait for workers": {healthy, func(s *Situation) { s.at("x").Config = Differs; s.silence("y") }, Go, "change x", ""},
		"alone":                              {healthy, func(s *Situation) { s.alone(); s.at("a").Config = Differs }, Go, "change a", ""},

		// What a person must decide.
		"another cluster's node": {healthy, func(s *Situation) { s.at("y").API = Stranger }, Refuse, "", "y belongs to another cluster"},
		"an alarm":               {healthy, func(s *Situation) { s.at("a").Etcd.Alarms = []string{"NOSPACE", "CORRUPT"} }, Refuse, "", "etcd has the alarm NOSPACE and CORRUPT on a"},
		"most of etcd is gone": {healthy, func(s *Situation) {
			s.at("a").Etcd, s.at("a").Config = View{Begun: true}, Differs
			for _, name := range []string{"b", "c"} {
				s.at(name).API, s.at(name).Config, s.at(name).Etcd = Silent, Unread, View{}
			}
		}, Wait, "", "a has another configuration, and has to wait: b does not answer"},
		"an etcd that says nothing": {healthy, func(s *Situation) {
			for i := range s.Nodes {
				s.Nodes[i].Etcd = View{Begun: s.Nodes[i].Name == "b"}
			}
		}, Wait, "", "it is not known which members of etcd a sees"},
		"two clusters of etcd": {healthy, func(s *Situation) {
			s.at("c").Etcd = View{Known: true, Self: 9, Leader: 9, Members: []Member{{ID: 9, Name: "c"}}}
		}, Refuse, "", "a and c are members of two different clusters of etcd"},
		"a member without a node":    {healthy, func(s *Situation) { s.member(Member{ID: 9, Name: "old"}) }, Refuse, "", `etcd has the member "old", which is not a control plane in cluster.yaml`},
		"a worker among the members": {healthy, func(s *Situation) { s.member(Member{ID: 9, Name: "x"}) }, Refuse, "", `etcd has the member "x"`},
		"no control plane":           {healthy, func(s *Situation) { s.Nodes = []Node{*s.at("x")} }, Refuse, "", "cluster.yaml has no control plane"},

		// Another program changes the nodes.
		"another owns a node":            {healthy, func(s *Situation) { s.at("c").Config = Differs; s.own("tuppr", "y") }, Refuse, "", "y belongs to tuppr, which changes its nodes itself"},
		"the first of them is named":     {healthy, func(s *Situation) { s.at("c").Config = Differs; s.own("Omni", "b"); s.own("tuppr", "a") }, Refuse, "", "a belongs to tuppr"},
		"nothing to do in its cluster":   {healthy, func(s *Situation) { s.own("Omni", "a", "b", "c", "x", "y") }, Done, "", ""},
		"it waits in its cluster":        {healthy, func(s *Situation) { s.at("a").Config = Differs; s.silence("c"); s.own("Omni", "x") }, Wait, "", "c does not answer"},
		"one joins its cluster":          {healthy, func(s *Situation) { s.lack("a"); s.own("Cluster API", "x") }, Refuse, "", "x belongs to Cluster API"},
		"its etcd has not begun":         {waiting, func(s *Situation) { s.own("Omni", "x") }, Refuse, "", "x belongs to Omni"},
		"its quorum is lost":             {healthy, func(s *Situation) { s.noLeader(); s.at("c").Config = Differs; s.Lost = true; s.own("Omni", "x") }, Refuse, "", "x belongs to Omni"},
		"its node is of another cluster": {healthy, func(s *Situation) { s.at("y").API = Stranger; s.own("Omni", "x") }, Refuse, "", "y belongs to another cluster"},

		// The last step.
		"it has not restarted":                  {healthy, func(s *Situation) { s.changed("a", "boot-a", true); s.at("c").Config = Differs }, Wait, "", "a has been changed and has not restarted yet"},
		"it has not restarted, and another has": {healthy, func(s *Situation) { s.changed("a", "boot-a", true); s.changed("c", "before", true) }, Wait, "", "a has been changed and has not restarted yet"},
		"it has not restarted, and begins etcd": {healthy, func(s *Situation) { s.changed("a", "boot-a", true); s.take(Bootstrap, "a") }, Wait, "", "a has been changed and has not restarted yet"},
		"it need not restart":                   {healthy, func(s *Situation) { s.changed("a", "boot-a", false); s.at("c").Config = Differs }, Go, "change c", ""},
		"it has restarted":                      {healthy, func(s *Situation) { s.changed("a", "before", true); s.at("c").Config = Differs }, Go, "change c", ""},
		"it is away":                            {healthy, func(s *Situation) { s.changed("x", "before", true); s.silence("x"); s.at("y").Config = Differs }, Wait, "", "x has been changed and does not answer"},
		"it is starting":                        {healthy, func(s *Situation) { s.changed("x", "before", true); s.at("x").Busy = true; s.at("y").Config = Differs }, Wait, "", "x has been changed and is busy"},
		"it cannot be read": {healthy, func(s *Situation) {
			s.changed("x", "before", true)
			s.at("x").Config = Unread
			s.at("y").Config = Differs
		}, Wait, "", "x has been changed, and its configuration could not be read"},
		"its boot cannot be read": {healthy, func(s *Situation) {
			s.changed("x", "before", true)
			s.at("x").Config, s.at("x").Boot = Differs, ""
		}, Wait, "", "x has been changed, and its boot could not be read"},
		"it has lost its disk": {healthy, func(s *Situation) { s.changed("a", "boot-a", true); s.wipe("a"); s.at("a").Boot = "" }, Go, "configure a", "replaces the member of etcd that it was"},
		"an earlier run took it": {healthy, func(s *Situation) {
			s.changed("a", "before", true)
			s.Taken[0].Earlier = true
			s.at("a").Config = Differs
		}, Go, "change a", "a has another configuration"},
		"it was taken twice": {healthy, func(s *Situation) {
			s.changed("a", "before", true)
			s.changed("a", "boot-a", true)
			s.at("a").Config = Differs
		}, Go, "change a", ""},
		"an earlier run took it, and it is away": {healthy, func(s *Situation) { s.changed("x", "before", true); s.Taken[0].Earlier = true; s.silence("x") }, Wait, "", "x has been changed and does not answer"},
		"the boot of the next cannot be read":    {healthy, func(s *Situation) { s.at("a").Config, s.at("c").Config, s.at("a").Boot = Differs, Differs, "" }, Wait, "", "a has another configuration, and its boot could not be read"},
		"it never arrived":                       {healthy, func(s *Situation) { s.changed("a", "boot-a", true); s.at("a").Config = Differs }, Go, "change a", ""},
		"it was rolled back":                     {healthy, func(s *Situation) { s.changed("a", "before", true); s.at("a").Config = Differs }, Refuse, "", "a did not keep the configuration that it was given"},
		"of a node that is no more":              {healthy, func(s *Situation) { s.changed("gone", "before", true) }, Done, "", ""},
		"its configuration and no API": {fresh, func(s *Situation) {
			s.take(Configure, "a")
			s.at("a").Busy = true
			s.at("b").API, s.at("c").API, s.at("x").API, s.at("y").API = Configured, Configured, Configured, Configured
		}, Wait, "", "a has its first configuration and is starting"},

		"its configuration, and it is busy":  {healthy, func(s *Situation) { s.take(Configure, "x"); s.at("x").Busy = true }, Wait, "", "x has its first configuration and is starting"},
		"its configuration, and it is ready": {healthy, func(s *Situation) { s.take(Configure, "x") }, Done, "", ""},
		"the configuration of another":       {healthy, func(s *Situation) { s.take(Configure, "x"); s.silence("y") }, Wait, "", "y does not answer"},

		// The beginning.
		"etcd has never run":             {waiting, func(s *Situation) { s.at("a").Etcd.Service = "now" }, Go, "bootstrap a", "etcd has never run on any control plane"},
		"one of them is silent":          {waiting, func(s *Situation) { s.silence("c") }, Wait, "", "c does not answer, so it is not known whether etcd has ever run on it"},
		"one of them does not say":       {waiting, func(s *Situation) { s.at("c").Etcd = View{} }, Wait, "", "it is not known whether etcd has ever run on c"},
		"one of them is busy":            {waiting, func(s *Situation) { s.at("c").Busy = true }, Wait, "", "c is busy"},
		"the boot of one cannot be read": {waiting, func(s *Situation) { s.begun("b", "boot-b", "new"); s.at("b").Boot = "" }, Wait, "", "the boot of b could not be read"},
		"etcd runs on one": {waiting, func(s *Situation) {
			*s.at("c") = *healthy().at("c")
			s.at("c").Etcd.Members = []Member{{ID: 3, Name: "c"}}
			s.at("c").Etcd.Leader = 3
		}, Wait, "", "a has not joined etcd yet"},
		"it was begun, and never arrived":        {waiting, func(s *Situation) { s.begun("b", "boot-b", "") }, Go, "bootstrap b", ""},
		"after their first configurations":       {waiting, func(s *Situation) { s.take(Configure, "a", "b", "c") }, Go, "bootstrap a", ""},
		"it was begun, and is silent":            {waiting, func(s *Situation) { s.begun("b", "boot-b", ""); s.silence("b") }, Wait, "", "b does not answer, so it is not known whether etcd has ever run on it"},
		"it was begun on the first, and arrived": {waiting, func(s *Situation) { s.begun("a", "boot-a", "new") }, Wait, "", "etcd is about to begin on a"},
		"it was begun, and arrived":              {waiting, func(s *Situation) { s.begun("b", "boot-b", "new") }, Wait, "", "etcd is about to begin on b"},
		"it was begun twice, and arrived":        {waiting, func(s *Situation) { s.begun("a", "boot-a", ""); s.begun("b", "boot-b", "new") }, Wait, "", "etcd is about to begin on b"},
		"it arrived, and was lost":               {waiting, func(s *Situation) { s.begun("b", "boot-before", "new") }, Go, "bootstrap b", ""},
		"on a node that is no more":              {waiting, func(s *Situation) { s.take(Bootstrap, "gone") }, Go, "bootstrap a", ""},
		"a worker does not hold it up":           {waiting, func(s *Situation) { s.silence("x") }, Go, "bootstrap a", ""},

		// The end.
		"a silent worker":            {healthy, func(s *Situation) { s.silence("y") }, Wait, "", "y does not answer"},
		"a busy worker":              {healthy, func(s *Situation) { s.at("y").Busy = true }, Wait, "", "y is busy"},
		"a busy worker that differs": {healthy, func(s *Situation) { s.at("y").Config, s.at("y").Busy = Differs, true }, Wait, "", "y is busy"},
		"an unread configuration":    {healthy, func(s *Situation) { s.at("y").Config = Unread }, Wait, "", "the configuration of y could not be read"},
		"a leader that nobody sees":  {healthy, func(s *Situation) { s.noLeader() }, Wait, "", "a sees no leader of etcd"},

		// A lost quorum.
		"it is lost":                       {healthy, func(s *Situation) { s.noLeader(); s.silence("b"); s.at("c").Config = Differs }, Wait, "", "c has another configuration, and has to wait: a sees no leader of etcd"},
		"it is lost, and that is said":     {healthy, func(s *Situation) { s.noLeader(); s.silence("b"); s.at("c").Config = Differs; s.Lost = true }, Go, "change c", "c has another configuration, and the quorum is lost"},
		"it is not lost, and that is said": {healthy, func(s *Situation) { s.at("c").Config = Differs; s.Lost = true }, Refuse, "", "the quorum is not lost: a sees a leader of etcd"},
		"a worker waits all the same":      {healthy, func(s *Situation) { s.noLeader(); s.at("x").Config = Differs; s.Lost = true }, Wait, "", "x has another configuration, and has to wait: a sees no leader of etcd"},
		"one joins all the same":           {healthy, func(s *Situation) { s.lack("c"); s.noLeader(); s.Lost = true }, Go, "configure c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.from()
			c.change(&s)
			got := Next(s)
			step := ""
			if got.Verdict == Go {
				step = string(got.Step.Kind) + " " + got.Step.Node
			}
			if got.Verdict != c.want || step != c.step || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %s %q: %s", got.Verdict, step, got.Reason)
			}
			if n, there := s.node(got.Step.Node); there && (got.Step.Boot != n.Boot || got.Step.Kind == Bootstrap && got.Step.Service != n.Etcd.Service) {
				t.Errorf("the step is %+v", got.Step)
			}
		})
	}
}

// Who asks for the health of a cluster learns the first thing that is wrong.
func TestUnhealthy(t *testing.T) {
	for want, c := range map[string]struct {
		from   func() Situation
		change func(s *Situation)
	}{
		"": {healthy, func(s *Situation) { s.silence("x") }},
		"etcd is not known to have begun on any control plane": {waiting, func(*Situation) {}},
		"etcd has the alarm NOSPACE on c":                      {healthy, func(s *Situation) { s.at("c").Etcd.Alarms = []string{"NOSPACE"} }},
		"c does not answer":                                    {healthy, func(s *Situation) { s.silence("c") }},
	} {
		s := c.from()
		c.change(&s)
		if got := Unhealthy(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func (s *Situation) take(kind Kind, nodes ...string) {
	for _, node := range nodes {
		s.Taken = append(s.Taken, Step{Kind: kind, Node: node})
	}
}

// wipe is a node that has lost its disk.
func (s *Situation) wipe(name string) {
	s.at(name).API, s.at(name).Config, s.at(name).Etcd = Maintenance, Differs, View{}
}

// grow adds a control plane.
func (s *Situation) grow(name string) {
	n := *s.at("a")
	n.Name, n.Etcd.Self = name, uint64(name[0])
	s.Nodes = append(s.Nodes, n)
	s.member(Member{ID: n.Etcd.Self, Name: name})
}

// begun is a Bootstrap of a node in this boot, whose service etcd is now this one.
func (s *Situation) begun(node, boot, service string) {
	s.Taken = append(s.Taken, Step{Kind: Bootstrap, Node: node, Boot: boot})
	s.at(node).Etcd.Service = service
}

func (s *Situation) own(owner string, nodes ...string) {
	for _, node := range nodes {
		s.at(node).Owner = owner
	}
}

func (s *Situation) changed(node, boot string, restart bool) {
	s.Taken = append(s.Taken, Step{Kind: Change, Node: node, Boot: boot, Restart: restart})
}

func (s *Situation) silence(nodes ...string) {
	for _, name := range nodes {
		n := s.at(name)
		n.API, n.Config, n.Boot, n.Etcd = Silent, Unread, "", View{}
	}
}

// each changes every view.
func (s *Situation) each(change func(*View)) {
	for i := range s.Nodes {
		if s.Nodes[i].hasEtcd() {
			change(&s.Nodes[i].Etcd)
		}
	}
}

func (s *Situation) member(m Member) {
	s.each(func(v *View) { v.Members = append(v.Members, m) })
}

func (s *Situation) learner(name string) {
	s.each(func(v *View) {
		for i := range v.Members {
			v.Members[i].Learner = v.Members[i].Name == name
		}
	})
}

func (s *Situation) noLeader() { s.each(func(v *View) { v.Leader = 0 }) }

// lack makes a control plane a new node.
func (s *Situation) lack(name string) {
	n := s.at(name)
	n.API, n.Config, n.Etcd = Maintenance, Differs, View{}
	s.each(func(v *View) {
		v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.Name == name })
	})
}

// alone leaves one control plane.
func (s *Situation) alone() {
	a := *s.at("a")
	a.Etcd.Leader, a.Etcd.Members = 1, []Member{{ID: 1, Name: "a"}}
	s.Nodes = []Node{a}
}
