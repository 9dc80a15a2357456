package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many bytes of a name are shown.
const (
	longestPlace = 100 // environment or layer: it appears often
	longestName  = 300 // address
	longestText  = 900 // line of an error
	longestList  = 400 // names of attributes
)

// printable replaces invisible characters, and those that reverse the text, with a question mark,
// and a line break with \n.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == utf8.RuneError, !unicode.IsPrint(r), unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// name returns text as it may be shown. The middle of a long text is cut out.
func name(text string) string { return shown(text, longestName) }

func shown(text string, longest int) string {
	if strings.TrimSpace(text) == "" {
		return "?"
	}
	return shorten(printable(text), longest)
}

func shorten(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	half := (longest - len("…(999,999,999 bytes left out)…")) / 2
	head, tail := half, len(text)-half
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s…(%s bytes left out)…%s", text[:head], number(tail-head), text[tail:])
}

// place names a layer, or an environment that has only one layer.
func place(environment, layer string) string {
	if layer == "" || layer == environment {
		return shown(environment, longestPlace)
	}
	return shown(environment, longestPlace) + "/" + shown(layer, longestPlace)
}

// names lists as many names as fit.
func names(all []string) string {
	var b strings.Builder
	for i, n := range all {
		n = name(n)
		if i > 0 && b.Len()+len(n) > longestList {
			fmt.Fprintf(&b, " and %s more", number(len(all)-i))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	return b.String()
}

// number writes 9312 as 9,312.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted writes a count with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// code returns text as a Markdown code span, between more backticks than it contains.
func code(text string) string {
	ticks := strings.Repeat("`", backticks(text)+1)
	if text[0] == '`' || text[len(text)-1] == '`' || text[0] == ' ' && text[len(text)-1] == ' ' {
		text = " " + text + " " // Markdown strips these spaces
	}
	return ticks + text + ticks
}

// backticks returns the length of the longest run of backticks.
func backticks(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] == '`' {
			run++
		} else {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
