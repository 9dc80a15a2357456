package report

import (
	"fmt"
	"time"
)

// A Deployment compares the files of the playbook with those of the last deploy that is on record.
type Deployment struct {
	Run     string    `json:"run,omitempty"` // empty: none is on record
	Commit  string    `json:"commit,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
	Changed []File    `json:"changed,omitempty"`
}

// A File is one that differs.
type File struct {
	Sign string `json:"sign"` // +, ~ or -
	Path string `json:"path"`
}

// Text says on a terminal how the playbook of an environment differs from the deployed one, in at
// most limit bytes.
func (d Deployment) Text(environment string, limit int) string {
	head := place(environment, "") + ": " + d.sentence(func(text string) string { return text }) + "\n"
	files := &list{indent: "  ", lines: d.lines()}
	files.fill(limit - len(head))
	return head + files.text
}

// sentence is the same in one line, without the files. quote marks names.
func (d Deployment) sentence(quote func(string) string) string {
	last := "run " + quote(shown(d.Run, longestPlace)) + " deployed "
	if d.Commit != "" {
		last += "commit " + quote(shown(d.Commit, longestPlace))
	} else {
		last += "it"
	}
	last += " on " + d.Ended.UTC().Format(time.DateTime+" MST")
	switch {
	case d.Run == "":
		return "no deploy of the playbook is on record."
	case len(d.Changed) == 0:
		return "the playbook has not changed since " + last + "."
	}
	return fmt.Sprintf("the playbook has changed in %s since %s.", counted(len(d.Changed), "file", "files"), last)
}

// lines returns the changed files.
func (d Deployment) lines() []line {
	var lines []line
	for _, f := range d.Changed {
		lines = append(lines, line{kind: file, text: signed(f.Sign, name(f.Path))})
	}
	return lines
}
