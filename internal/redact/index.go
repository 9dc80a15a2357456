package redact

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// seed is how many significant bytes are looked up at each position of a text. No pattern is
// shorter.
const seed = 8

const (
	// A pattern longer than longest is also recognised by its pieces, so that a part of a long
	// value does not slip through and little needs to be held back.
	longest = 96
	// piece is how many consecutive bytes make a piece, counted from one of its starts.
	piece = 24
	// widest is the largest gap of skipped bytes within one value: a line break and a deep
	// indentation.
	widest = 128
	// When a long pattern repeats a seed, at most this many positions are looked up.
	repeats = 8
)

// A start is a position in a pattern from which it is recognised.
type start struct {
	key     uint64 // the seed at this position
	pattern int32
	at      int32 // position in the pattern's bytes
	need    int32 // how many consecutive bytes must match
	next    int32 // the next start with the same key, or -1
}

// An index finds the starts of patterns by their seeds. It is our own code because libraries for
// multi-pattern search rebuild their tables for each added pattern and search a whole text: none
// keeps its state from one write to the next. For nearly every position of a text, a bitmap that
// fits the CPU cache shows that no pattern starts there.
type index struct {
	patterns [][]byte
	owners   []int32 // the value that each pattern belongs to
	starts   []start
	slots    []int32  // by hash of the key: first start, or -1
	bitmap   []uint64 // by hash of the key
	prefixes []uint64 // by hash of the first 1 to 7 bytes of each seed
	shift    uint     // turns a hash into a bit number
	known    map[string]bool
}

const (
	least = 1 << 16 // bits
	mix   = 0x9e3779b97f4a7c15
)

func newIndex() *index {
	x := &index{known: map[string]bool{}}
	x.size(least)
	return x
}

func (x *index) size(n int) {
	x.bitmap, x.prefixes = make([]uint64, n/64), make([]uint64, n/64)
	x.shift = uint(64 - bits.Len(uint(n-1)))
	x.slots = make([]int32, max(n/32, 1024))
	for i := range x.slots {
		x.slots[i] = -1
	}
}

func (x *index) slot(key uint64) int {
	h := (key * mix) >> 20
	for i := int(h) & (len(x.slots) - 1); ; i = (i + 1) & (len(x.slots) - 1) {
		if x.slots[i] < 0 || x.starts[x.slots[i]].key == key {
			return i
		}
	}
}

// A form is one spelling of a value.
type form struct {
	bytes  []byte // what the spelling means
	pieces bool   // any long part is as secret as the whole
	lines  []int  // positions at which its lines begin
	public []span // parts that are no secret on their own
}

// shown reports whether the piece at a position is no secret.
func (f form) shown(at int) bool {
	return slices.ContainsFunc(f.public, func(s span) bool { return s.begin <= at && at+piece <= s.end })
}

func (x *index) add(f form, owner int32) {
	p := f.bytes
	if len(p) < seed {
		return
	}
	// Only the bytes of a long pattern are compared, so that the map does not store it a second
	// time.
	if len(p) <= longest {
		if x.known[string(p)] {
			return
		}
		x.known[string(p)] = true
	}
	id := int32(len(x.patterns))
	x.patterns, x.owners = append(x.patterns, p), append(x.owners, owner)
	switch {
	case len(p) <= longest:
		x.start(id, 0, len(p))
	case !f.pieces:
		x.start(id, 0, min(len(p), 128))
	default:
		stride := seed
		if len(p) > 1<<10 {
			stride = 4 * seed
		}
		x.start(id, 0, piece)
		for at := stride; at+piece <= len(p); at += stride {
			if !f.shown(at) {
				x.start(id, at, piece)
			}
		}
		for _, at := range f.lines {
			if at%stride != 0 && at+piece <= len(p) && !f.shown(at) {
				x.start(id, at, piece)
			}
		}
	}
}

func (x *index) start(id int32, at, need int) {
	key := binary.LittleEndian.Uint64(x.patterns[id][at:])
	slot := x.slot(key)
	if at > 0 {
		n := 0
		for i := x.slots[slot]; i >= 0; i = x.starts[i].next {
			n++
		}
		if n >= repeats {
			return
		}
	}
	x.starts = append(x.starts, start{key: key, pattern: id, at: int32(at), need: int32(need), next: x.slots[slot]})
	x.slots[slot] = int32(len(x.starts) - 1)
	x.mark(key)
	if len(x.starts)*64 > len(x.bitmap)*64 && len(x.bitmap)*64 < 1<<27 {
		x.grow()
	}
}

func (x *index) mark(key uint64) {
	set(x.bitmap, (key*mix)>>x.shift)
	for k := range seed - 1 {
		set(x.prefixes, prefix(key, k+1)>>x.shift)
	}
}

// grow doubles the tables, so that adding values one by one costs as much as adding all together.
func (x *index) grow() {
	x.size(len(x.bitmap) * 64 * 4)
	for i := range x.starts {
		s := &x.starts[i]
		slot := x.slot(s.key)
		s.next, x.slots[slot] = x.slots[slot], int32(i)
		x.mark(s.key)
	}
}

// prefix is the hash of the first k bytes of a seed.
func prefix(key uint64, k int) uint64 {
	return (key<<(64-8*k) ^ uint64(k)) * mix
}

func set(bitmap []uint64, bit uint64) { bitmap[bit>>6] |= 1 << (bit & 63) }

func has(bitmap []uint64, bit uint64) bool { return bitmap[bit>>6]&(1<<(bit&63)) != 0 }

// A found is how far a text matches a pattern.
type found struct {
	count int  // matched bytes of the pattern
	end   int  // position in the text after the last match
	open  bool // the text ends there, so the match may continue
}

// follow compares the meaning of text from a position on with a pattern. The position may be before
// the text by the number of bytes skipped so far. last means that nothing more will be written.
func follow(text []byte, from int, pattern []byte, last bool) found {
	f := found{end: from}
	for i := max(from, 0); f.count < len(pattern); {
		if i-f.end > widest {
			return f
		}
		if i == len(text) {
			f.open = true
			return f
		}
		t := next(text[i:])
		if t.open && !last {
			f.open = true
			return f
		}
		if t.n > 0 {
			n := min(t.n, len(pattern)-f.count)
			if string(t.bytes[:n]) != string(pattern[f.count:f.count+n]) {
				return f
			}
			f.count += n
			f.end = i + t.size
		}
		i += t.size
	}
	return f
}
