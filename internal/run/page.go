package run

import (
	"strings"
)

// A Page is an unfinished report. It is masked when it is complete, because only then are all
// secrets known.
type Page struct {
	text  strings.Builder
	parts []func(mask func(string) string) string
}

// Write adds text that is masked as a whole. It never fails.
func (p *Page) Write(b []byte) (int, error) { return p.text.Write(b) }

// WriteString is Write for a string.
func (p *Page) WriteString(s string) { p.text.WriteString(s) }

// Add adds a part that knows which of its fields may contain a secret.
func (p *Page) Add(part func(mask func(string) string) string) {
	p.flush()
	p.parts = append(p.parts, part)
}

// flush turns the text so far into a part.
func (p *Page) flush() {
	if text := p.text.String(); text != "" {
		p.parts = append(p.parts, func(mask func(string) string) string { return mask(text) })
		p.text.Reset()
	}
}

// Masked returns the whole page.
func (p *Page) Masked(mask func(string) string) string {
	p.flush()
	var all strings.Builder
	for _, part := range p.parts {
		all.WriteString(part(mask))
	}
	return all.String()
}
