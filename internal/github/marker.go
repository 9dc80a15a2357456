package github

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Longest is how long GitHub lets the text of a comment or of an issue be, in
// characters (not bytes), with its marker.
const Longest = 65536

// Room is how many characters the marker leaves for a text of that kind or key.
func Room(kind string) int { return Longest - len(marker(kind)) - len("\n") }

var validKind = regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]*$`)

func marker(kind string) string { return "<!-- slipway:" + kind + " -->" }

// marked puts the marker before a text, and refuses what GitHub would.
func marked(kind, text string) (string, error) {
	// Two hyphens end a comment of HTML, for some who read it.
	if !validKind.MatchString(kind) || strings.Contains(kind, "--") {
		return "", fmt.Errorf("the marker %q is not of small letters, digits, and single hyphens, dots or slashes", kind)
	}
	text = tidy(marker(kind) + "\n" + text)
	return text, checkLength(text)
}

func checkLength(text string) error {
	if n := utf8.RuneCountInString(text); n > Longest {
		return fmt.Errorf("the text has %d characters, and GitHub takes %d", n, Longest)
	}
	return nil
}

// isMarked says whether the first line of a text is the marker and nothing else.
func isMarked(kind, text string) bool {
	first, _, _ := strings.Cut(tidy(text), "\n")
	return strings.TrimRight(first, " \t") == marker(kind)
}

// tidy is a text as it is compared: GitHub's editor turns line ends into CRLF,
// and may drop white space at the end.
func tidy(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimRight(text, " \t\n")
}
