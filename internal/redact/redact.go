// Package redact keeps secrets out of all that leaves a stage.
//
// A Set knows the secret values. Its Writer goes around an output and replaces
// each value, in every spelling of reading.go and every encoding of encodings.go,
// by three asterisks, however the output is cut into writes and lines.
//
// # What it does not see
//
//   - values of fewer than 4 bytes, and encodings of those of fewer than 8: they
//     would mask ordinary text. Skipped counts the former;
//   - parts of values: of one that means up to 96 bytes all of it must be there, of
//     a longer one 31 bytes in a row (55 of one longer than 1 KiB);
//   - a value that a program compressed, encrypted, hashed or reversed, or that
//     stands in UTF-16, in EBCDIC, or in an encoding of an encoding that is not listed.
//
// It is this large because what counts as a value, its encodings and the search for them depend on each other.
package redact

import (
	"io"
	"slices"
	"strings"
	"sync"
)

// Mask stands for a secret, and for several that touch.
const Mask = "***"

// A Set knows the secrets. Any number of goroutines may use it at once, also while
// it learns more.
type Set struct {
	mu      sync.RWMutex
	index   *index
	short   shorts
	values  []string
	seen    map[string]bool
	skipped int
}

// New makes a set of secret values. Duplicates and empty values are fine.
func New(values ...string) *Set {
	s := &Set{index: newIndex(), short: newShorts(), seen: map[string]bool{}}
	s.Add(values...)
	return s
}

// Add has the set, and every writer that was made of it, know more values. What a
// value costs does not depend on how many are known already.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		s.add(value)
	}
}

func (s *Set) add(value string) {
	trimmed := strings.TrimSpace(value)
	if trimmed == "" || s.seen[trimmed] || public(trimmed) {
		return
	}
	s.seen[trimmed] = true
	if len(trimmed) < shortestPlain {
		s.skipped++
		return
	}
	parts, structured := Parts(trimmed)
	owner := int32(len(s.values))
	s.values = append(s.values, trimmed)
	if all, _ := meaning(trimmed); len(all) < seed {
		s.short.add(trimmed[:min(len(trimmed), longest)], owner)
		if len(trimmed) >= shortest && len(trimmed) <= longest { // punctuation, for the most part
			for _, spelling := range allSpellings(trimmed) {
				s.short.add(spelling, owner)
			}
		}
	}
	if len(trimmed) >= shortest {
		for _, f := range formsOf(value, structured) {
			s.index.add(f, owner)
		}
	}
	for _, part := range parts {
		s.add(part)
	}
}

// Skipped is how many values were too short to be recognised.
func (s *Set) Skipped() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.skipped
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

// Leave has the set never learn these values.
func (s *Set) Leave(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		s.seen[strings.TrimSpace(value)] = true
	}
}

// Found are the values that are in a text as a whole, as they were added or as
// parts of such.
func (s *Set) Found(text string) []string {
	var found []string
	w := s.Writer(io.Discard)
	w.tell = func(owner int32) { found = append(found, s.values[owner]) }
	_, _ = io.WriteString(w, text)
	_ = w.Flush()
	slices.Sort(found)
	return slices.Compact(found)
}

type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// Writer returns a writer that hands on to w what it may. It holds back only
// what can still turn out to be part of a secret: Flush hands that on at the
// end. It must not be used by two goroutines at once.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, to: w} }
