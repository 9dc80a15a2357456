package printable

import (
	"fmt"
	"strings"
)

// Shorten leaves out the middle of a text of more than limit bytes. Mask a text before: half of a
// secret is not recognised.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := text[:limit/2], text[len(text)-limit/2:]
	return fmt.Sprintf("%s … %d bytes are left out … %s", strings.ToValidUTF8(head, ""), len(text)-limit/2*2, strings.ToValidUTF8(tail, ""))
}
