// Package redact keeps secrets out of all that leaves a stage.
//
// A Set is made from the secret values. Its Writer goes around the output of
// every child process and replaces each value, in every encoding of encodings.go,
// by three asterisks, however the output is cut into writes.
//
// # What it does not see
//
//   - values of fewer than 4 bytes, and encodings of those of fewer than 8: they
//     would mask ordinary text. Skipped counts the former;
//   - a value that is broken by colour codes or by a line wrap that its own
//     encoding does not make;
//   - a value that a program compressed, encrypted or hashed.
package redact

import "io"

// Mask stands for a secret, and for several that touch.
const Mask = "***"

// A Set knows the secrets. It does not change, and any number of writers may
// use it at once.
type Set struct {
	machine *automaton
	// Skipped is how many values were too short to be recognised.
	Skipped int
}

// New makes a set of secret values. Duplicates and empty values are fine.
func New(values ...string) *Set {
	s := &Set{}
	unique := map[string]bool{}
	for _, value := range values {
		patterns := patternsOf(value)
		if len(patterns) == 0 && value != "" {
			s.Skipped++
		}
		for _, p := range patterns {
			unique[p] = true
		}
	}
	s.machine = newAutomaton(unique)
	return s
}

// String is s without its secrets: for error texts and summaries.
func (s *Set) String(text string) string {
	var out buffer
	w := s.Writer(&out)
	// A buffer takes everything.
	_, _ = io.WriteString(w, text)
	_ = w.Flush()
	return string(out)
}

type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// Writer returns a writer that hands on to w what it may. It holds back only
// what can still turn out to be part of a secret: Flush hands that on at the
// end. It must not be used by two goroutines at once.
func (s *Set) Writer(w io.Writer) *Writer {
	return &Writer{machine: s.machine, to: w}
}

// A Writer redacts a stream.
type Writer struct {
	machine *automaton
	to      io.Writer
	state   int32
	text    []byte // what is held back, as many bytes as the state is deep, and then what is written
	matches []span // of text, in order, none touching the next
	masking bool   // what was handed on last was the mask
	out     []byte // scratch
}

// A span is a part of text, from its first byte to the one after its last.
type span struct{ begin, end int }

// Write takes all of p, unless the writer below fails.
func (w *Writer) Write(p []byte) (int, error) {
	m, state := w.machine, w.state
	w.text = append(w.text, p...)
	for i := len(w.text) - len(p); i < len(w.text); i++ {
		state = m.next(state, w.text[i])
		if length := m.match[state]; length > 0 {
			w.matched(span{i + 1 - int(length), i + 1})
		}
	}
	w.state = state
	if err := w.release(len(w.text) - int(m.depth[state])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// matched adds a span that ends last of all, and joins it to those it touches.
func (w *Writer) matched(s span) {
	for n := len(w.matches); n > 0 && w.matches[n-1].end >= s.begin; n-- {
		s.begin = min(s.begin, w.matches[n-1].begin)
		w.matches = w.matches[:n-1]
	}
	w.matches = append(w.matches, s)
}

// release hands on the first n bytes of text, which no further match can reach.
func (w *Writer) release(n int) error {
	w.out = w.out[:0]
	at, left := 0, w.matches[:0]
	for _, s := range w.matches {
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
	w.matches = left
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

// Flush ends the stream: what is still held is handed on.
func (w *Writer) Flush() error {
	w.state = root
	return w.release(len(w.text))
}
