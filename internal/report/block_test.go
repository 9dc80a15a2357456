package report

import (
	"strings"
	"testing"
)

func TestBlock(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		limit int
		want  string
	}{
		"plain":         {[]string{"a", "b"}, 1000, "```\na\nb\n```\n"},
		"a fence":       {[]string{"````", "</details>"}, 1000, "`````\n````\n</details>\n`````\n"},
		"not printable": {[]string{"a\nb\x1b[2J\u202e"}, 1000, "```\na\\nb?[2J?\n```\n"},
		"cut":           {[]string{strings.Repeat("a", 40), strings.Repeat("b", 40), "c"}, 100, "```\n" + strings.Repeat("a", 40) + "\n… and 2 more lines\n```\n"},
		"nothing":       {nil, 1000, "```\n```\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Block(c.lines, c.limit)
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if len(got) > c.limit {
				t.Errorf("%d bytes, not %d", len(got), c.limit)
			}
		})
	}
}
