package run

import (
	"strings"

	"slipway/internal/redact"
)

// A Mask hides secrets in what a run shows. Credentials are always masked. What a plan or a
// state marks as sensitive is masked too, unless an output that is not sensitive shows the
// same value: its author has published it.
type Mask struct {
	redactor  *redact.Set
	own       []string        // credentials, and what else is never shown
	marked    []string        // what plans and states mark as sensitive
	published strings.Builder // the outputs that are not sensitive, as the report shows them
}

// NewMask returns a mask that hides nothing yet.
func NewMask() *Mask { return &Mask{redactor: redact.New()} }

// Add hides credentials from now on.
func (m *Mask) Add(values ...string) {
	m.own = append(m.own, values...)
	m.redactor.Add(values...)
}

// AddMarked hides values that a plan or a state marks as sensitive, from now on.
func (m *Mask) AddMarked(values ...string) {
	m.marked = append(m.marked, values...)
	m.redactor.Add(values...)
}

// Publish notes an output that is not sensitive. Settle has it shown.
func (m *Mask) Publish(text string) { m.published.WriteString(text + "\n") }

// Settle stops hiding the marked values that an output publishes. It comes last: until then,
// nobody knows all that is published.
func (m *Mask) Settle() {
	if m.published.Len() == 0 || len(m.marked) == 0 {
		return
	}
	published := redact.New(m.marked...).Found(m.published.String())
	if len(published) == 0 {
		return
	}
	m.redactor = redact.New(m.own...)
	m.redactor.Leave(published...)
	m.redactor.Add(m.marked...)
}

// String is a text with what is hidden replaced.
func (m *Mask) String(text string) string { return m.redactor.String(text) }

// TooShort counts the values that are too short to be hidden.
func (m *Mask) TooShort() int { return m.redactor.Skipped() }
