package rules

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A phrase sounds translated or archaic. A space in its pattern also matches a line break within a
// comment.
type phrase struct {
	pattern string // regular expression without capturing groups; matches whole words, in any case
	instead string // what to write
}

// banned phrases may not be in any Go, Markdown or YAML file.
var banned = []phrase{
	{`befalls?|befallen`, `fails, or applies to`},
	{`thereof|therein|whereof`, `of it, in it`},
	{`(?:it|this|which|who|%[sqv]) is no (?:private|public|age|ssh|url|https?|day|date|name|number|commit|digest|address|object|event|regular|source|reviewer|signature|path|plan|state|secret|flag|tests?)`, `is not a …`},
	{`as it is wont`, `as usual`},
	{`at fault`, `invalid`},
	{`taking away`, `deleting, or removing`},
	{`takes? into the state|taken into`, `import into the state`},
	{`(?:has|have|to) been seen to|be seen to`, `handle`},
	{`look whether|looked whether`, `check whether`},
	{`(?:is|are) not whole|not whole`, `incomplete`},
	{`nothing shows that`, `it is not known whether`},
	{`(?:commas|comma) between`, `comma-separated`},
	{`small letters`, `lower-case letters`},
	{`not waited for`, `not waiting for`},
	{`not written out`, `not a literal`},
	{`came to be|comes to be`, `was created`},
	{`gives? (?:it|its lock|the lock) back`, `releases the lock`},
	{`takes the place of|in the place of`, `replaces, or instead of`},
	{`was made, and is|made, and could not`, `was created`},
	{`brings? state and (?:cloud|world) together`, `makes state and cloud agree`},
	{`could be it`, `matches`},
	{`anew`, `again, or recreated`},
	{`let us in`, `accepted our login`},
	{`keeps? (?:a|no) lock`, `has locks, or has no working locks`},
	{`takes? (?:it |them )?away|taken away`, `delete, remove or destroy`},
	{`end(?:s|ed)? in order`, `ended cleanly`},
	{`is looked at|are looked at|looks at`, `is checked, or inspects`},
	{`looks whether`, `checks whether`},
	{`once more`, `again`},
	{`(?:is|are) there twice`, `is listed twice`},
	{`nobody knows`, `is not known`},
	{`at work`, `active, or running`},
	{`redactors?`, `the mask`},
	{`(?:lies|lie) (?:in|on|beside|where)`, `is stored in`},
	{`stands? (?:behind|beside|among)`, `is after, or is beside`},
	{`tells (?:of|no|who|which)`, `reports`},
	{`mends?|mended|mending`, `fix, or repair`},
	{`shall`, `must, or should`},
	{`less the`, `without the`},
	{`behind opentofu's back`, `outside of OpenTofu`},
	{`(?:is|not) what (?:its|the|their) code says`, `matches its code`},
	{`came into being`, `was created`},
}

// A blemish is a banned phrase in a text.
type blemish struct {
	line          int // counted from 1
	text, instead string
}

// blemishes returns the phrases that a text contains.
func blemishes(text []byte, phrases []phrase) (found []blemish) {
	parts := make([]string, len(phrases))
	for i, p := range phrases {
		parts[i] = "(" + strings.ReplaceAll(p.pattern, " ", `[\s/#]+`) + ")"
	}
	pattern := regexp.MustCompile(`(?i)(?:^|[^\w])(?:` + strings.Join(parts, "|") + `)(?:$|[^\w])`)
	for _, match := range pattern.FindAllSubmatchIndex(text, -1) {
		for i, p := range phrases {
			if begin, end := match[2+2*i], match[3+2*i]; begin >= 0 {
				line := 1 + bytes.Count(text[:begin], []byte("\n"))
				found = append(found, blemish{line, string(text[begin:end]), p.instead})
			}
		}
	}
	return found
}

// prose reports whether a file's language is checked. Left out are generated files, and records of
// past decisions, which are not rewritten.
func prose(name string) bool {
	return slices.Contains([]string{".go", ".md", ".yml"}, filepath.Ext(name)) &&
		!strings.HasSuffix(name, ".gen.go") && name != "internal/rules/words_test.go"
}

// Comments, messages and documentation are in plain English.
func TestWords(t *testing.T) {
	skipped := []string{".git", ".slipway", ".terraform", "node_modules", "testdata", "docs/adr", "ci/internal"}
	seen := 0
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		if entry.IsDir() {
			if slices.Contains(skipped, name) || slices.Contains(skipped, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !prose(name) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		seen++
		for _, b := range blemishes(text, banned) {
			t.Errorf("%s:%d: %q sounds translated: write %s", name, b.line, b.text, b.instead)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 400 {
		t.Errorf("only %d files were checked", seen)
	}
}

func TestBlemishes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"The lock is created again.":             "",
		"A renewed lock. There is no plan.":      "",
		"It is no longer there.":                 "",
		"// The lock is made\n// Befallen here.": "Befallen",
		"the key, %q, is invalid; it is no\n// SSH key": "it is no\n// SSH",
		"%q is no URL":                       "%q is no URL",
		"`%s is no commit`":                  "%s is no commit",
		"the files are at\n\t# fault, both":  "at\n\t# fault",
		"what was made, and is in the state": "was made, and is",
		"use SMALL LETTERS only":             "SMALL LETTERS",
		"the page that befalls":              "befalls",
	} {
		var got []string
		for _, b := range blemishes([]byte(text), banned) {
			got = append(got, b.text)
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if found := blemishes([]byte("one\ntwo\nthereof"), banned); len(found) != 1 || found[0].line != 3 {
		t.Errorf("got %+v", found)
	}
	for name, want := range map[string]bool{"README.md": true, "ci/main.go": true, ".github/workflows/plan.yml": true, "ci/dagger.gen.go": false, "go.sum": false} {
		if prose(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
