package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"slipway/internal/plan"
)

// Names that try to be more than names.
var nasty = []string{
	"`", "``", "```", "~~~", "`` ` ``", " `x` ", "|", `\|`, `\\|`, `\`, "a|b`c", "\n", "\r\n```\n", "\t", "</details>", "<details>", "</code></pre>",
	"<script>", "<!--", "-->", "&lt;", "@everyone", "#123", "GH-123", "owner/repo#1", "0123456789abcdef0123456789abcdef01234567",
	"https://example.com", "www.example.com", "a@b.com", "[x](y)", "![x](y)", "**x**", "_x_", "- x", "# x", "> x", "1. x", "---", "| --- |",
	"\u202e", "\u200b", "\u2066", "\ufeff", "\u2028", "\u0085", "\u00a0", "\u034f", "\ufe0f", "\U000e0041", "\x1b[2J", "\x00", "\xff\xfe", "é", "名前", "👩‍👩‍👧",
	"… and 9 more creates in x", "+   x", "", " ", "  ", strings.Repeat("long", 200), strings.Repeat("`", 500), strings.Repeat("名", 400), `module.a["x"].b`,
}

// random makes a report of names that the fuzzer found, and the nasty ones.
func random(seed uint64, found ...string) Report {
	source := rand.New(rand.NewPCG(seed, 1))
	name := func() string {
		pick := func() string {
			if source.IntN(2) == 0 {
				return found[source.IntN(len(found))]
			}
			return nasty[source.IntN(len(nasty))]
		}
		if source.IntN(3) > 0 {
			return "terraform_data.x[" + pick() + pick() + "]"
		}
		return pick()
	}
	maybe := func() string {
		if source.IntN(3) > 0 {
			return ""
		}
		return name()
	}
	some := func(most int) []string {
		var list []string
		for range source.IntN(most + 1) {
			list = append(list, name())
		}
		return list
	}
	values := func(attributes []string) (list []plan.Value) {
		for _, a := range attributes {
			list = append(list, plan.Value{Path: a, Old: maybe(), New: maybe(), Added: some(2), Removed: some(2), More: source.IntN(3)})
		}
		return list
	}
	flag := func() bool { return source.IntN(8) == 0 }
	actions := append([]plan.Action{plan.Action(found[0]), "later"}, plan.Actions...)
	layer := func() Layer {
		l := Layer{Name: maybe(), Note: maybe(), Warnings: some(2)}
		l.Summary = plan.Summary{Outputs: some(3), Errored: flag(), Partial: flag()}
		for range source.IntN(3) * source.IntN(4) * source.IntN(12) {
			l.Summary.Changes = append(l.Summary.Changes, plan.Change{
				Address: name(), Action: actions[source.IntN(len(actions))], Reason: maybe(), Attributes: some(4), Forces: some(1),
				From: maybe(), Imported: flag(), Deposed: flag(), Recreated: flag(), Later: some(2),
			})
			c := &l.Summary.Changes[len(l.Summary.Changes)-1]
			c.Values = values(c.Attributes)
		}
		for range source.IntN(3) {
			l.Summary.Drift = append(l.Summary.Drift, plan.Drift{Address: name(), Deleted: flag(), Attributes: some(4), Answered: flag()})
			d := &l.Summary.Drift[len(l.Summary.Drift)-1]
			d.Values = values(d.Attributes)
		}
		return l
	}
	r := Report{Whole: maybe()}
	for range source.IntN(5) {
		e := Environment{Name: name(), Error: maybe(), Hint: maybe()}
		for range source.IntN(5) {
			e.Layers = append(e.Layers, layer())
		}
		r.Environments = append(r.Environments, e)
	}
	return r
}

// FuzzMarkdown: whatever the names and the limit are, the text is one that checks
// in, and it accounts for all that there is.
func FuzzMarkdown(f *testing.F) {
	for i, name := range nasty {
		f.Add(uint64(i), name, "b", 65_536)
		f.Add(uint64(i), "a", name, 40*i)
	}
	f.Fuzz(func(t *testing.T, seed uint64, a, b string, limit int) {
		r := random(seed, a, b)
		limit %= 70_000

		markdown := Markdown(r, limit)
		if markdown != Markdown(r, limit) {
			t.Fatal("it is not the same twice")
		}
		var lines []string
		blocks := checkMarkdown(t, markdown, limit)
		for _, one := range blocks {
			if one.language == "diff" {
				lines = append(lines, one.lines...)
			}
		}
		_, around := parse(t, markdown)
		for _, l := range around {
			if strings.HasPrefix(l, "… and ") {
				lines = append(lines, l)
			}
		}
		if whole(markdown, limit) {
			checkAccount(t, r, lines)
		}

		console := Console(r, limit)
		checkText(t, console, limit)
		if whole(console, limit) {
			lines = nil
			all := strings.Split(strings.TrimSpace(console), "\n")
			for i, l := range all {
				// The account of what is not shown at all is the last line.
				if indented, ok := strings.CutPrefix(l, "  "); ok || i == len(all)-1 {
					lines = append(lines, indented)
				}
			}
			checkAccount(t, r, lines)
		}
	})
}

// whole says that there was room for more than the totals. Two kilobytes are
// always enough, as names are cut.
func whole(text string, limit int) bool {
	return limit >= 2048 || strings.Contains(text, "\n… and ") || strings.Contains(text, "\n  … and ")
}
