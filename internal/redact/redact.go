// Package redact masks secrets in everything that a stage outputs.
//
// A Set contains the secret values. Its Writer wraps an output and replaces each value with three
// asterisks, in every spelling of reading.go and every encoding of encodings.go, however the output
// is split into writes and lines.
//
// # What it does not see
//
//   - values of fewer than 4 bytes, and encodings of values of fewer than 8: masking
//     them would mask ordinary text. Skipped counts the former;
//   - parts of values: a value of up to 96 bytes is only recognised as a whole, a
//     longer one by 31 consecutive bytes (55 if it is longer than 1 KiB);
//   - a value that a program compressed, encrypted, hashed, reversed or wrote in
//     UTF-16, in EBCDIC, or in a nested encoding that is not listed.
//
// It is this large because what counts as a value, its encodings and the search for them depend on
// each other.
package redact

import (
	"io"
	"slices"
	"strings"
	"sync"
)

// Mask replaces a secret, or several adjacent ones.
const Mask = "***"

// A Set contains the secrets. It is safe for concurrent use, also while values are added.
type Set struct {
	mu      sync.RWMutex
	index   *index
	short   shorts
	values  []string
	seen    map[string]bool
	skipped int
}

// New returns a set of secret values. Duplicates and empty values are allowed.
func New(values ...string) *Set {
	s := &Set{index: newIndex(), short: newShorts(), seen: map[string]bool{}}
	s.Add(values...)
	return s
}

// Add adds values to the set and to every writer created from it. The cost of adding a value does
// not depend on the size of the set.
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
		if len(trimmed) >= shortest && len(trimmed) <= longest { // mostly punctuation
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

// Skipped returns how many values were too short to be recognised.
func (s *Set) Skipped() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.skipped
}

// String returns text with its secrets masked. It is meant for error texts and summaries.
func (s *Set) String(text string) string {
	var out buffer
	w := s.Writer(&out)
	// Writing to a buffer cannot fail.
	_, _ = io.WriteString(w, text)
	_ = w.Flush()
	return string(out)
}

// Leave excludes these values from the set for good.
func (s *Set) Leave(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		s.seen[strings.TrimSpace(value)] = true
	}
}

// Found returns the values that occur in a text as a whole, whether they were added or are parts of
// added ones.
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

// Writer returns a writer that masks what it passes on to w. It holds back only what may still turn
// out to be part of a secret; Flush passes that on at the end. It is not safe for concurrent use.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, to: w} }
