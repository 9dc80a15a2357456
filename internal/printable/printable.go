// Package printable makes foreign texts, such as file names from a pull request, safe to print: on
// a terminal, in a workflow log, or in a command to copy. For Markdown, see internal/report.
package printable

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal removes characters that could control a terminal or reverse the text. Line breaks and
// tabs stay.
func Terminal(text string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && hidden(c) {
			return -1
		}
		return c
	}, text)
}

// hidden reports whether a character is invisible, apart from the space.
func hidden(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// Line is Terminal for a text that must stay on one line, such as a name.
func Line(text string) string {
	return Terminal(strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text))
}

// command matches what GitHub's runner treats as a command in a job's log: one form at the
// beginning of a line, the other anywhere.
//
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
var command = regexp.MustCompile(`(?m)^[\s\x{feff}]*::|##\[`)

// Log is Terminal for a text that may end up in a workflow log: no line of it is a command there.
func Log(text string) string {
	return command.ReplaceAllStringFunc(Terminal(text), func(found string) string {
		last := len(found) - 1
		return found[:last] + " " + found[last:]
	})
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Word writes a text as one shell word, with quotes only if necessary.
func Word(text string) string {
	switch {
	case plainWord.MatchString(text):
		return text
	case strings.ContainsFunc(text, hidden) || !utf8.ValidString(text):
		return ansiC(text)
	}
	return Quoted(text)
}

// Quoted writes a text as one shell word, always with quotes.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// ansiC quotes a word with invisible characters as $'…', which Bash, Zsh and POSIX 2024 support.
func ansiC(text string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			b.WriteString(`\x` + string(digits[c>>4]) + string(digits[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}
