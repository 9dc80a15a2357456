package github

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Longest is GitHub's limit for the text of a comment or an issue, including the marker, in
// characters (not bytes).
const Longest = 65536

// Room returns how many characters the marker leaves for a text of that kind or key.
func Room(kind string) int { return Longest - len(marker(kind)) - len("\n") }

var validKind = regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]*$`)

func marker(kind string) string { return "<!-- slipway:" + kind + " -->" }

// marked prepends the marker to a text, and refuses texts that GitHub would reject.
func marked(kind, text string) (string, error) {
	// For some parsers, two hyphens end an HTML comment.
	if !validKind.MatchString(kind) || strings.Contains(kind, "--") {
		return "", fmt.Errorf("the marker %q may only contain lower-case letters, digits, and single hyphens, dots or slashes", kind)
	}
	text = tidy(marker(kind) + "\n" + text)
	return text, checkLength(text)
}

func checkLength(text string) error {
	if n := utf8.RuneCountInString(text); n > Longest {
		return fmt.Errorf("the text has %d characters, but GitHub allows %d", n, Longest)
	}
	return nil
}

// isMarked reports whether the first line of a text is exactly the marker.
func isMarked(kind, text string) bool {
	first, _, _ := strings.Cut(tidy(text), "\n")
	return strings.TrimRight(first, " \t") == marker(kind)
}

// tidy normalises a text for comparison: GitHub's editor turns line ends into CRLF and may drop
// trailing white space.
func tidy(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimRight(text, " \t\n")
}
