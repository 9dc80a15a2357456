package redact

import (
	"encoding/binary"
	"io"
	"slices"
)

// A Writer redacts a stream.
type Writer struct {
	set     *Set
	to      io.Writer
	tell    func(owner int32) // if not nil, called for each value found as a whole
	text    []byte            // what is held back, followed by what is written
	spans   []span            // parts of text to mask
	runs    []run             // long patterns that match up to the end of text
	masking bool              // the last output was the mask
	out     []byte            // scratch, like the fields below
	sig     []byte            // the meaning of text
	pos     []int32           // where in text each byte of sig begins
	inner   []int32           // where a value may begin within an escape
	passed  map[int32]int     // by long pattern: the end of the last match
	last    bool              // nothing more will be written
}

// A span is a part of text, from its first byte to the one after its last.
type span struct{ begin, end int }

// A run is a long pattern that is masked up to the end of what has been written.
type run struct {
	pattern int32
	at      int  // position in the pattern that must match next
	from    int  // position in text
	whole   bool // the match started at the pattern's beginning
}

// portion is how much text is searched in one go, so that the working data fits the CPU cache.
const portion = 16 << 10

// Write consumes all of p, unless the underlying writer fails.
func (w *Writer) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, portion) {
		w.text = append(w.text, part...)
		if err := w.release(w.look()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush ends the stream and writes what was held back.
func (w *Writer) Flush() error {
	w.last = true
	err := w.release(w.look())
	w.runs, w.last = w.runs[:0], false
	return err
}

// look finds the secrets in text, and returns the position from which text must be held back.
func (w *Writer) look() (hold int) {
	w.set.mu.RLock()
	defer w.set.mu.RUnlock()
	clear(w.passed)
	w.goOn()
	hold = w.read()
	x := w.set.index
	var window uint64
	for i, b := range w.sig {
		window = window>>8 | uint64(b)<<56
		if bit := (window * mix) >> x.shift; x.bitmap[bit>>6]&(1<<(bit&63)) != 0 && i >= seed-1 {
			hold = min(hold, w.probe(window, int(w.pos[i-seed+1])))
		}
	}
	for _, at := range w.inner {
		hold = min(hold, w.within(int(at)))
	}
	if len(w.set.short.values) != 0 {
		w.set.short.find(w.text, func(begin int, v shortValue) {
			w.match(span{begin, begin + len(v.text)})
			if w.tell != nil {
				w.tell(v.owner)
			}
		})
	}
	if w.last {
		return len(w.text)
	}
	for _, r := range w.runs {
		hold = min(hold, r.from) // skipped bytes may be within the value
	}
	hold = min(hold, w.set.short.hold(w.text))
	var tail [seed]byte
	n := min(len(w.sig), seed-1)
	copy(tail[:], w.sig[len(w.sig)-n:])
	for k := n; k > 0; k-- {
		at := int(w.pos[len(w.sig)-k])
		var t [seed]byte
		copy(t[:], tail[n-k:n])
		if has(x.prefixes, prefix(binary.LittleEndian.Uint64(t[:]), k)>>x.shift) && len(w.text)-at <= seed*(widest+longestEscape) {
			hold = min(hold, at)
			break
		}
	}
	return hold
}

// read fills sig, pos and inner, and returns the position of an escape that text does not complete.
func (w *Writer) read() (open int) {
	text := w.text
	if cap(w.sig) < len(text)+4 {
		w.sig, w.pos = make([]byte, len(text)+4, 2*len(text)+4), make([]int32, len(text)+4, 2*len(text)+4)
	}
	sig, pos := w.sig[:len(text)+4], w.pos[:len(text)+4]
	w.inner = w.inner[:0]
	n := 0
	for i := 0; i < len(text); {
		kind := kinds[text[i]]
		if kind < special {
			sig[n], pos[n] = text[i], int32(i)
			n += int(kind)
			i++
			continue
		}
		t := next(text[i:])
		if t.open && !w.last {
			w.sig, w.pos = sig[:n], pos[:n]
			return i
		}
		for j := range t.n {
			sig[n], pos[n] = t.bytes[j], int32(i)
			n++
		}
		for j := range t.size - 1 {
			w.inner = append(w.inner, int32(i+j+1))
		}
		i += t.size
	}
	w.sig, w.pos = sig[:n], pos[:n]
	return len(text)
}

// probe looks for patterns that start with key at a position of text. It returns the position from
// which text must be held back because a match may continue.
func (w *Writer) probe(key uint64, at int) (hold int) {
	x := w.set.index
	hold = len(w.text)
	for i := x.slots[x.slot(key)]; i >= 0; i = x.starts[i].next {
		s := &x.starts[i]
		pattern := x.patterns[s.pattern][s.at:]
		long := len(x.patterns[s.pattern]) > longest
		// A repeating pattern is followed only once.
		if at < w.passed[s.pattern]-seed {
			continue
		}
		f := follow(w.text, at, pattern, w.last)
		switch {
		case f.count >= int(s.need):
			w.match(span{at, f.end})
			if w.tell != nil && s.at == 0 && f.count == len(pattern) {
				w.tell(x.owners[s.pattern])
			}
			if long {
				w.follows(s.pattern, f.end)
				if f.open && len(w.runs) < repeats {
					w.runs = append(w.runs, run{s.pattern, int(s.at) + f.count, f.end, s.at == 0})
				}
			}
		case f.open:
			hold = min(hold, at)
		}
	}
	return hold
}

// within looks for patterns that start inside something that otherwise reads as an escape.
func (w *Writer) within(at int) (hold int) {
	var key [seed]byte
	n := 0
	for i := at; n < seed; {
		var t step
		if i < len(w.text) {
			t = next(w.text[i:])
		}
		if i == len(w.text) || t.open && !w.last {
			if has(w.set.index.prefixes, prefix(binary.LittleEndian.Uint64(key[:]), n)>>w.set.index.shift) {
				return at
			}
			return len(w.text)
		}
		if i == at && t.n == 0 {
			return len(w.text)
		}
		n += copy(key[n:], t.bytes[:t.n])
		i += t.size
		if i-at > widest {
			return len(w.text)
		}
	}
	window := binary.LittleEndian.Uint64(key[:])
	if !has(w.set.index.bitmap, (window*mix)>>w.set.index.shift) {
		return len(w.text)
	}
	return w.probe(window, at)
}

// goOn continues the matches that reached the end of earlier writes.
func (w *Writer) goOn() {
	left := w.runs[:0]
	for _, r := range w.runs {
		f := follow(w.text, r.from, w.set.index.patterns[r.pattern][r.at:], w.last)
		if f.count != 0 {
			w.match(span{max(r.from, 0), f.end})
			if w.tell != nil && r.whole && r.at+f.count == len(w.set.index.patterns[r.pattern]) {
				w.tell(w.set.index.owners[r.pattern])
			}
			w.follows(r.pattern, f.end)
		}
		if f.open {
			left = append(left, run{r.pattern, r.at + f.count, f.end, r.whole})
		}
	}
	w.runs = left
}

func (w *Writer) follows(pattern int32, end int) {
	if w.passed == nil {
		w.passed = map[int32]int{}
	}
	w.passed[pattern] = max(w.passed[pattern], end)
}

func (w *Writer) match(s span) { w.spans = append(w.spans, s) }

// join sorts the spans and merges adjacent ones.
func (w *Writer) join() {
	slices.SortFunc(w.spans, func(a, b span) int { return a.begin - b.begin })
	joined := w.spans[:0]
	for _, s := range w.spans {
		if n := len(joined); n > 0 && s.begin <= joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, s.end)
			continue
		}
		joined = append(joined, s)
	}
	w.spans = joined
}

// release writes the first n bytes of text, which no later match can reach.
func (w *Writer) release(n int) error {
	w.join()
	w.out = w.out[:0]
	at, left := 0, w.spans[:0]
	for _, s := range w.spans {
		if s.begin < n {
			w.plain(at, s.begin)
			if !w.masking {
				w.out = append(w.out, Mask...)
			}
			w.masking, at = true, min(s.end, n)
		}
		if s.end > n {
			left = append(left, span{max(s.begin, n) - n, s.end - n})
		}
	}
	w.plain(at, n)
	w.spans = left
	for i := range w.runs {
		w.runs[i].from -= n
	}
	w.text = w.text[:copy(w.text, w.text[n:])]
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.to.Write(w.out)
	return err
}

// plain appends a part of text that contains no match to out.
func (w *Writer) plain(begin, end int) {
	if begin < end {
		w.out, w.masking = append(w.out, w.text[begin:end]...), false
	}
}
