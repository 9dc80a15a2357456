package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"slipway/internal/plan"
)

// The checks here read a finished text and know nothing of how it was made.

// A block is a fenced one.
type block struct {
	language string
	lines    []string
}

var (
	fenceLine = regexp.MustCompile("^(`{3,})([a-z]*)$")
	tag       = regexp.MustCompile(`</?[a-z]+>`)
	// All that may stand outside of code: our own words, tables and headings.
	ownWords = regexp.MustCompile(`^(#{3,4} |\| )?[A-Za-z0-9 ,.:;*|…-]*$`)
)

// parse takes Markdown apart into its fenced blocks and the lines around them.
func parse(t *testing.T, text string) (blocks []block, around []string) {
	t.Helper()
	fence := ""
	for _, l := range strings.Split(text, "\n") {
		m := fenceLine.FindStringSubmatch(l)
		switch {
		case fence == "" && m != nil:
			fence = m[1]
			blocks = append(blocks, block{language: m[2]})
		case fence == "":
			around = append(around, l)
		// Up to three spaces before it and any number after it end a block too.
		case len(l)-len(strings.TrimLeft(l, " ")) <= 3 && strings.HasPrefix(strings.TrimLeft(l, " "), fence) && strings.Trim(l, " `") == "":
			if l != fence {
				t.Fatalf("a line inside of a block ends it: %q", l)
			}
			fence = ""
		case strings.Contains(l, fence):
			t.Fatalf("a block holds its own fence: %q", l)
		default:
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, l)
		}
	}
	if fence != "" {
		t.Fatal("a block of code is not ended")
	}
	return blocks, around
}

// withoutCode takes the code spans out of a line, as CommonMark finds them.
func withoutCode(line string) string {
	var b strings.Builder
	for line != "" {
		if line[0] != '`' {
			b.WriteByte(line[0])
			line = line[1:]
			continue
		}
		ticks := len(line) - len(strings.TrimLeft(line, "`"))
		end := -1
		for at := ticks; at < len(line); {
			run := 0
			for at+run < len(line) && line[at+run] == '`' {
				run++
			}
			if run == ticks {
				end = at + run
				break
			}
			at += max(run, 1)
		}
		if end < 0 {
			return b.String() + line // as it is, and refused for that
		}
		line = line[end:]
	}
	return b.String()
}

// checkMarkdown fails if anything in the text could be more than a name.
func checkMarkdown(t *testing.T, text string, limit int) []block {
	t.Helper()
	checkText(t, text, limit)
	blocks, around := parse(t, text)
	var open []string
	columns := 0
	for _, l := range around {
		bare := withoutCode(l)
		for _, found := range tag.FindAllString(bare, -1) {
			switch name := strings.Trim(found, "</>"); {
			case name != "details" && name != "summary":
				t.Fatalf("tag %s in %q", found, l)
			case !strings.HasPrefix(found, "</"):
				open = append(open, name)
			case len(open) == 0 || open[len(open)-1] != name:
				t.Fatalf("%s without its beginning", found)
			default:
				open = open[:len(open)-1]
			}
		}
		if bare = tag.ReplaceAllString(bare, ""); !ownWords.MatchString(bare) {
			t.Fatalf("outside of code there is %q, of %q", bare, l)
		}
		if strings.HasPrefix(l, "| ") {
			// Cells are found before code is.
			n := strings.Count(l, "|")
			if columns != 0 && n != columns {
				t.Fatalf("a row of %d cells in a table of %d: %q", n-1, columns-1, l)
			}
			columns = n
		}
	}
	if len(open) > 0 {
		t.Fatalf("the tags %q are not ended", open)
	}
	return blocks
}

// checkText is what holds for both forms.
func checkText(t *testing.T, text string, limit int) {
	t.Helper()
	if len(text) > max(limit, 0) {
		t.Fatalf("%d bytes, of at most %d", len(text), limit)
	}
	if !utf8.ValidString(text) {
		t.Fatal("not UTF-8")
	}
	if text != "" && (!strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n")) {
		t.Fatalf("it ends in %q", text[max(0, len(text)-10):])
	}
	for _, r := range text {
		if r != '\n' && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) || r == '\u034f' || r == '\ufe0f' {
			t.Fatalf("it holds %U", r)
		}
	}
}

// The words with which a report counts what it does not show, and the sign of what it shows.
var words = map[string]string{
	"delete": "-", "replacement": "-/+", "forget": ".", "unknown action": "?", "create": "+", "update": "~",
	"forget with recreation": "./+", "forgets with recreation": "./+", "import": "<", "move": ">", "drifted resource": "!", "output": "~", "note": "#",
}

var (
	signedLine = regexp.MustCompile(`^(-  |-/\+|\./\+|\.  |\?  |\+  |~  |<  |>  |!  |#  ) .`)
	missing    = regexp.MustCompile(`([0-9,]+) more ([a-z ]+?)s?(?: in |, |;|$)`)
	elsewhere  = regexp.MustCompile(`(; full | in [0-9]+ lists? that| in ).*$`)
)

// account adds up, by its sign, what lines show and what they say is not shown.
func account(lines []string) map[string]int {
	sum := map[string]int{}
	for _, l := range lines {
		if m := signedLine.FindStringSubmatch(l); m != nil {
			sum[strings.TrimSpace(m[1])]++
		} else if rest, ok := strings.CutPrefix(l, "… and "); ok {
			for _, m := range missing.FindAllStringSubmatch(elsewhere.ReplaceAllString(rest, ""), -1) {
				n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
				if sign, ok := words[m[2]]; ok {
					sum[sign] += n
				}
			}
		}
	}
	return sum
}

// expected is what a report has to account for.
func expected(r Report) map[string]int {
	sum := map[string]int{}
	add := func(sign string, n int) {
		if n > 0 {
			sum[sign] += n
		}
	}
	for _, e := range r.Environments {
		for _, l := range e.Layers {
			for _, c := range l.Summary.Changes {
				word := map[string]string{"replace": "replacement", "unknown": "unknown action"}[string(c.Action)]
				if word == "" {
					word = string(c.Action)
				}
				if c.Action == plan.Forget && c.Recreated {
					word = "forget with recreation"
				}
				if sign, ok := words[word]; ok {
					add(sign, 1)
				} else {
					add("?", 1)
				}
			}
			add("!", len(l.Summary.Drift))
			add("~", len(l.Summary.Outputs))
			if l.Note != "" {
				add("#", 1)
			}
			if l.Summary.Partial {
				add("#", 1)
			}
		}
	}
	return sum
}

func checkAccount(t *testing.T, r Report, lines []string) {
	t.Helper()
	if got, want := fmt.Sprint(account(lines)), fmt.Sprint(expected(r)); got != want {
		t.Fatalf("it accounts for %s, of %s", got, want)
	}
}
