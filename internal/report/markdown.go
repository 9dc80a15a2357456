package report

import "strings"

// Markdown writes the report for a comment or a job summary, in at most limit bytes: the totals,
// what could not be planned, what would be lost, the warnings, and then the rest, folded.
func Markdown(r Report, limit int) string {
	v := look(r)
	sentence, more := v.totals()
	d := document{head: "**" + sentence + "**" + more + "\n\n", short: sentence}
	if subject := v.subject(); subject != "" {
		d.head = "**" + code(subject) + ": " + sentence + "**" + more + "\n\n"
	}
	for _, e := range r.Environments {
		if e.Digest != "" {
			d.head += "The plan of " + code(place(e.Name, "")) + " is " + code(shown(e.Digest, longestPlace)) + ".\n\n"
		}
	}
	for _, e := range r.Environments {
		if e.Deployment == nil {
			continue
		}
		d.head += code(place(e.Name, "")) + ": " + e.Deployment.sentence(code) + "\n\n"
		if lines := e.Deployment.lines(); len(lines) > 0 {
			d.files.lists = append(d.files.lists, v.fenced("", place(e.Name, ""), "diff", lines))
		}
	}
	if v.whole != "" {
		d.whole = code(v.whole)
	}
	if header, rows := piped(v.table()); len(rows) > 0 {
		d.table.lists = []*list{{open: header, close: "\n", lines: rows}}
	}
	d.problems.heading = "### Could not be planned\n\n"
	for _, p := range v.problems {
		d.problems.lists = append(d.problems.lists, v.fenced("", p.place, "", p.lines))
	}
	d.warnings.heading = "### Warnings\n\n"
	d.files.heading = "### Files of the playbook\n\n"
	d.losses.heading = "### " + v.heading() + "\n\n"
	for _, l := range v.layers {
		name := code(l.place) + "\n\n"
		if v.subject() == l.place {
			name = "" // the head already says it
		}
		if len(l.lost) > 0 {
			d.losses.lists = append(d.losses.lists, v.fenced(name, l.place, "diff", l.lost))
		}
		if len(l.warnings) > 0 {
			d.warnings.lists = append(d.warnings.lists, v.fenced(name, l.place, "", l.warnings))
		}
		if len(l.other) > 0 {
			if name != "" {
				name = "#### " + name
			}
			folded := v.fenced(name+"<details><summary>"+l.folded()+"</summary>\n\n", l.place, "diff", l.other)
			folded.close += "</details>\n\n"
			d.others.lists = append(d.others.lists, folded)
		}
	}
	return d.within(limit)
}

// fenced returns a list in a code block that no line can end.
func (v view) fenced(above, place, language string, lines []line) *list {
	longest := max(2, backticks(place), backticks(v.whole))
	for _, l := range lines {
		longest = max(longest, backticks(l.text), backticks(l.brackets))
		for _, value := range l.values {
			longest = max(longest, backticks(value))
		}
	}
	fence := strings.Repeat("`", longest+1)
	return &list{place: place, whole: v.whole, open: above + fence + language + "\n", close: fence + "\n\n", lines: lines}
}
