package stage

import (
	"strings"

	"slipway/internal/redact"
)

// A Mask knows what must not be shown. What goes before what is this: a credential
// is always masked. What an output shows that is not sensitive is published by its
// author, and shown wherever it comes up, in every run. All else that a plan or a
// state marks as sensitive is masked.
type Mask struct {
	redactor *redact.Set
	own      []string        // credentials, and what else is never shown
	marked   []string        // what plans and states mark as sensitive
	shown    strings.Builder // outputs that are not sensitive, as the report shows them
}

func NewMask() Mask { return Mask{redactor: redact.New()} }

// Add has the redactor know credentials.
func (m *Mask) Add(values ...string) {
	m.own = append(m.own, values...)
	m.redactor.Add(values...)
}

// AddMarked has the redactor know values that are marked as sensitive.
func (m *Mask) AddMarked(values ...string) {
	m.marked = append(m.marked, values...)
	m.redactor.Add(values...)
}

// Publish has the redactor show again what is marked in one place and shown by an
// output in another.
func (m *Mask) Publish() {
	if m.shown.Len() == 0 || len(m.marked) == 0 {
		return
	}
	published := redact.New(m.marked...).Found(m.shown.String())
	if len(published) == 0 {
		return
	}
	m.redactor = redact.New(m.own...)
	m.redactor.Leave(published...)
	m.redactor.Add(m.marked...)
}

// A Page is a report. It is masked at the end, when all is known that is secret.
type Page struct {
	text  strings.Builder
	parts []func(mask func(string) string) string
}

func (p *Page) Write(b []byte) (int, error) { return p.text.Write(b) }

func (p *Page) WriteString(s string) { p.text.WriteString(s) }

// Add puts in something that knows itself what of it may hold a secret.
func (p *Page) Add(part func(mask func(string) string) string) {
	p.flush()
	p.parts = append(p.parts, part)
}

// flush makes a part of the text that was written so far.
func (p *Page) flush() {
	if text := p.text.String(); text != "" {
		p.parts = append(p.parts, func(mask func(string) string) string { return mask(text) })
		p.text.Reset()
	}
}

func (p *Page) Masked(mask func(string) string) string {
	p.flush()
	var all strings.Builder
	for _, part := range p.parts {
		all.WriteString(part(mask))
	}
	return all.String()
}
