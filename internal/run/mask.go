package run

import (
	"io"
	"strings"

	"slipway/internal/redact"
)

// A Mask hides secrets in a run's output. Credentials are always masked. What a plan or a state
// marks as sensitive is masked, too, unless a non-sensitive output has the same value: then its
// author has published it.
type Mask struct {
	set       *redact.Set
	own       []string        // credentials and everything else that is never shown
	marked    []string        // what plans and states mark as sensitive
	published strings.Builder // the non-sensitive outputs, as shown in the report
}

// NewMask returns a mask that hides nothing yet.
func NewMask() *Mask { return &Mask{set: redact.New()} }

// Add masks credentials from now on.
func (m *Mask) Add(values ...string) {
	m.own = append(m.own, values...)
	m.set.Add(values...)
}

// AddMarked masks values that a plan or a state marks as sensitive, from now on.
func (m *Mask) AddMarked(values ...string) {
	m.marked = append(m.marked, values...)
	m.set.Add(values...)
}

// Publish records a non-sensitive output. Settle makes it visible.
func (m *Mask) Publish(text string) { m.published.WriteString(text + "\n") }

// Settle stops masking the marked values that an output publishes. It is called last, because only
// then all published outputs are known.
func (m *Mask) Settle() {
	if m.published.Len() == 0 || len(m.marked) == 0 {
		return
	}
	published := redact.New(m.marked...).Found(m.published.String())
	if len(published) == 0 {
		return
	}
	m.set = redact.New(m.own...)
	m.set.Leave(published...)
	m.set.Add(m.marked...)
}

// String returns a text with its secrets masked.
func (m *Mask) String(text string) string { return m.set.String(text) }

// Writer masks what is written to it, and passes it on to w. Its Flush passes on the rest.
func (m *Mask) Writer(w io.Writer) *redact.Writer { return m.set.Writer(w) }

// TooShort counts the values that are too short to be masked.
func (m *Mask) TooShort() int { return m.set.Skipped() }
