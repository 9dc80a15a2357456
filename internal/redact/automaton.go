package redact

// An automaton finds all patterns at once, after Aho and Corasick (1975). It is
// our own because the libraries search a whole text: none keeps its state from
// one write to the next, which is what tells how little must be held back.
//
// A node is a prefix of some pattern, numbered from the root.
type automaton struct {
	tables [][256]int32 // the children of the root, then of the nodes that have many
	table  []int32      // which of the tables is the node's, or 0
	depth  []int32      // length of the node's prefix
	match  []int32      // length of the longest pattern that ends at the node, or 0
	fail   []int32      // the longest proper suffix of the prefix that is a node too
	// The children of a node without a table, as a list: most have one.
	child   []int32
	sibling []int32
	label   []byte // the byte that leads to the node
}

const root = 0

// many children make a list slow and a table worth its kilobyte.
const many = 4

func newAutomaton(patterns map[string]bool) *automaton {
	a := &automaton{tables: make([][256]int32, 1)}
	a.add(0, 0)
	for pattern := range patterns {
		node := int32(root)
		for i := range len(pattern) {
			next := a.edge(node, pattern[i])
			if next == root {
				next = a.add(pattern[i], a.depth[node]+1)
				if node == root {
					a.tables[root][pattern[i]] = next
				} else {
					a.sibling[next], a.child[node] = a.child[node], next
				}
			}
			node = next
		}
		a.match[node] = int32(len(pattern))
	}
	a.tabulate()
	a.link()
	return a
}

// tabulate gives a table to each node with many children.
func (a *automaton) tabulate() {
	for node := range a.child {
		children := 0
		for n := a.child[node]; n != root; n = a.sibling[n] {
			children++
		}
		if children < many {
			continue
		}
		var table [256]int32
		for n := a.child[node]; n != root; n = a.sibling[n] {
			table[a.label[n]] = n
		}
		a.table[node] = int32(len(a.tables))
		a.tables = append(a.tables, table)
	}
}

// add makes a node and returns its number.
func (a *automaton) add(label byte, depth int32) int32 {
	a.depth, a.match = append(a.depth, depth), append(a.match, 0)
	a.fail, a.label = append(a.fail, root), append(a.label, label)
	a.child, a.sibling, a.table = append(a.child, root), append(a.sibling, root), append(a.table, 0)
	return int32(len(a.depth) - 1)
}

// edge is the child of node by that byte, or the root if it has none.
func (a *automaton) edge(node int32, b byte) int32 {
	if t := a.table[node]; t != 0 || node == root {
		return a.tables[t][b]
	}
	for n := a.child[node]; n != root; n = a.sibling[n] {
		if a.label[n] == b {
			return n
		}
	}
	return root
}

// link sets fail and match, shallow nodes before deep ones.
func (a *automaton) link() {
	var queue []int32
	for _, n := range a.tables[root] {
		if n != root {
			queue = append(queue, n)
		}
	}
	for i := 0; i < len(queue); i++ {
		node := queue[i]
		for n := a.child[node]; n != root; n = a.sibling[n] {
			a.fail[n] = a.next(a.fail[node], a.label[n])
			a.match[n] = max(a.match[n], a.match[a.fail[n]])
			queue = append(queue, n)
		}
	}
}

// next is the node after one more byte.
func (a *automaton) next(node int32, b byte) int32 {
	for {
		n := a.edge(node, b)
		if n != root || node == root {
			return n
		}
		node = a.fail[node]
	}
}
