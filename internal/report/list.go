package report

import (
	"slices"
	"strings"
)

// A list may be shown in part. It then says so.
type list struct {
	place       string // environment or layer of the list
	whole       string // where to get the full list
	open, close string // text around the list
	indent      string // before each line
	lines       []line
	text        string // the part that is shown
	cut         tally  // the part that is not
}

// valueIndent precedes a value, below its address.
const valueIndent = "      "

// fill shows as many lines as fit: all lines without brackets and values rather than some lines
// with them.
func (l *list) fill(room int) {
	left := count(l.lines)
	shown, brackets, missing := 0, false, l.missing(left)
	switch {
	case l.size(true) <= room:
		shown, brackets, missing = len(l.lines), true, ""
	case l.size(false)+len(l.missing(nil)) <= room:
		shown, missing = len(l.lines), l.missing(nil)
	default:
		// No summary of a part is longer than that of the whole.
		room -= len(l.open) + len(l.close) + len(missing)
		for shown < len(l.lines)-1 && l.length(shown, false) <= room {
			room -= l.length(shown, false)
			left[l.lines[shown].kind]--
			shown++
		}
		missing = l.missing(left)
	}
	l.cut = count(l.lines[shown:])
	l.text = ""
	if shown > 0 {
		l.text = l.written(shown, brackets, missing)
	}
}

// written returns the first n lines and the text around them.
func (l *list) written(n int, brackets bool, missing string) string {
	var b strings.Builder
	b.WriteString(l.open)
	for _, one := range l.lines[:n] {
		b.WriteString(l.indent + one.text)
		if brackets {
			b.WriteString(one.brackets)
			for _, value := range one.values {
				b.WriteString("\n" + l.indent + valueIndent + value)
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString(missing + l.close)
	return b.String()
}

// missing describes what is not shown.
func (l *list) missing(cut tally) string {
	parts := cut.parts("more ")
	if slices.ContainsFunc(l.lines, func(one line) bool { return one.brackets != "" || len(one.values) > 0 }) {
		parts = append(parts, "all details")
	}
	text := l.indent + "… and " + strings.Join(parts, ", ")
	if l.place != "" {
		text += " in " + l.place
	}
	if l.whole != "" {
		text += "; full list: " + l.whole
	}
	return text + "\n"
}

// size returns the length of the complete list.
func (l *list) size(brackets bool) int {
	n := len(l.open) + len(l.close)
	for i := range l.lines {
		n += l.length(i, brackets)
	}
	return n
}

func (l *list) length(i int, brackets bool) int {
	n := len(l.indent) + len(l.lines[i].text) + 1
	if brackets {
		n += len(l.lines[i].brackets)
		for _, value := range l.lines[i].values {
			n += len("\n") + len(l.indent) + len(valueIndent) + len(value)
		}
	}
	return n
}
