// Package printable writes texts that others made, such as the names of files in a
// pull request, so that they are nothing but text where they are read: on a terminal,
// in the log of a workflow, in a command to copy. In Markdown, internal/report does it.
package printable

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal takes out what could steer a terminal or turn the text around. Ends of
// lines and tabs stay.
func Terminal(text string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && hidden(c) {
			return -1
		}
		return c
	}, text)
}

// hidden is true for what cannot be seen, other than a space.
func hidden(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// Line is Terminal for a text that is to stay on its line: a name.
func Line(text string) string {
	return Terminal(strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text))
}

// command is what GitHub's runner takes for a command in the log of a job: the one at
// the beginning of a line, the other anywhere.
//
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
var command = regexp.MustCompile(`(?m)^[\s\x{feff}]*::|##\[`)

// Log is Terminal for what may be the log of a workflow: no line is a command there.
func Log(text string) string {
	return command.ReplaceAllStringFunc(Terminal(text), func(found string) string {
		last := len(found) - 1
		return found[:last] + " " + found[last:]
	})
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Word writes a text as one word of a shell, in quotes only where it needs them.
func Word(text string) string {
	switch {
	case plainWord.MatchString(text):
		return text
	case strings.ContainsFunc(text, hidden) || !utf8.ValidString(text):
		return ansiC(text)
	}
	return Quoted(text)
}

// Quoted writes a text as one word of a shell, always in quotes.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// ansiC writes a word with what cannot be seen: $'…', which Bash, Zsh and POSIX of
// 2024 read.
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
