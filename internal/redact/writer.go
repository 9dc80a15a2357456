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
	tell    func(owner int32) // of each value that is there as a whole, if not nil
	text    []byte            // what is held back, and then what is written
	spans   []span            // of text, to be masked
	runs    []run             // long patterns that text followed to its end
	masking bool              // what was handed on last was the mask
	out     []byte            // scratch, as the rest
	sig     []byte            // the bytes that text means
	pos     []int32           // and where in text each of them begins
	inner   []int32           // where a value may begin within an escape
	passed  map[int32]int     // by long pattern: the end of what was followed
	last    bool              // nothing more will be written
}

// A span is a part of text, from its first byte to the one after its last.
type span struct{ begin, end int }

// A run is a long pattern that was masked up to the end of what had been written.
type run struct {
	pattern int32
	at      int  // of the pattern: what would be next
	from    int  // of text
	whole   bool // it was followed from its beginning
}

// portion is how much is looked at at once: what that takes fits the cache.
const portion = 16 << 10

// Write takes all of p, unless the writer below fails.
func (w *Writer) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, portion) {
		w.text = append(w.text, part...)
		if err := w.release(w.look()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush ends the stream: what is still held is handed on.
func (w *Writer) Flush() error {
	w.last = true
	err := w.release(w.look())
	w.runs, w.last = w.runs[:0], false
	return err
}

// look finds the secrets in text, and returns from where on it must be held back.
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
		hold = min(hold, r.from) // what is passed over may stand within the value
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

// read fills sig, pos and inner, and returns where an escape begins that the text
// does not end.
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

// probe looks for patterns that start at a place of text where key is. It returns
// from where on text must be held back for one that may go on.
func (w *Writer) probe(key uint64, at int) (hold int) {
	x := w.set.index
	hold = len(w.text)
	for i := x.slots[x.slot(key)]; i >= 0; i = x.starts[i].next {
		s := &x.starts[i]
		pattern := x.patterns[s.pattern][s.at:]
		long := len(x.patterns[s.pattern]) > longest
		// What repeats itself is followed once.
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

// within looks for patterns that start within what else is an escape.
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

// goOn follows the patterns that the earlier writes followed to their end.
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

// join sorts the spans and makes one of those that touch.
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

// release hands on the first n bytes of text, which no further match can reach.
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

// plain puts a part of text in which nothing matched to out.
func (w *Writer) plain(begin, end int) {
	if begin < end {
		w.out, w.masking = append(w.out, w.text[begin:end]...), false
	}
}
