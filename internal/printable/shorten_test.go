package printable

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Of a long text, the beginning and the end are kept.
func TestShorten(t *testing.T) {
	long := "begin " + strings.Repeat("é", 1000) + " end"
	got := Shorten(long, 101)
	if len(got) > 150 || !strings.HasPrefix(got, "begin é") || !strings.HasSuffix(got, "é end") || !utf8.ValidString(got) || !strings.Contains(got, " … 1910 bytes are left out … ") {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"", "short", strings.Repeat("x", 101)} {
		if got := Shorten(text, 101); got != text {
			t.Errorf("got %q", got)
		}
	}
}
