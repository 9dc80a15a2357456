package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A cell of the table of totals.
type cell struct {
	text  string
	name  bool // the text was chosen by somebody else
	count bool
}

// table counts the changes of each layer. Empty columns are left out, and so is a table with only
// one row.
func (v view) table() [][]cell {
	if len(v.layers)+v.failed < 2 || v.quiet() {
		return nil
	}
	named, noted := false, v.failed > 0
	for _, l := range v.layers {
		named, noted = named || l.layer != "", noted || l.note != ""
	}
	var columns []kind
	for _, k := range append(slices.Clone(changeKinds), drift, output) {
		if v.total[k] > 0 {
			columns = append(columns, k)
		}
	}
	newRow := func(environment, layer cell, count func(kind) string, note string) []cell {
		cells := []cell{environment}
		if named {
			cells = append(cells, layer)
		}
		for _, k := range columns {
			cells = append(cells, cell{text: count(k), count: true})
		}
		if noted {
			cells = append(cells, cell{text: note})
		}
		return cells
	}
	rows := [][]cell{newRow(cell{text: "environment"}, cell{text: "layer"}, func(k kind) string { return string(k) }, "note")}
	for _, l := range v.layers {
		counts := func(k kind) string {
			if l.tally[k] == 0 {
				return ""
			}
			return number(l.tally[k])
		}
		rows = append(rows, newRow(cell{text: l.environment, name: true}, cell{text: l.layer, name: l.layer != ""}, counts, l.note))
	}
	for _, p := range v.problems {
		if p.failed {
			none := func(kind) string { return "" }
			rows = append(rows, newRow(cell{text: p.place, name: true}, cell{}, none, "could not be planned"))
		}
	}
	return rows
}

// aligned writes rows below each other, for a terminal.
func aligned(rows [][]cell) (header string, lines []line) {
	widths := map[int]int{}
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for i, r := range rows {
		var b strings.Builder
		for at, c := range r {
			pad := strings.Repeat(" ", widths[at]-utf8.RuneCountInString(c.text))
			if c.count {
				b.WriteString(pad + c.text + "  ")
			} else {
				b.WriteString(c.text + pad + "  ")
			}
		}
		text := strings.TrimRight(b.String(), " ")
		if i == 0 {
			header = text + "\n"
		} else {
			lines = append(lines, line{kind: row, text: text})
		}
	}
	return header, lines
}

// piped writes rows in Markdown. A pipe ends a cell even in code, and no way to escape it works for
// every name, so it becomes a question mark.
func piped(rows [][]cell) (header string, lines []line) {
	for i, r := range rows {
		text, rule := "|", "|"
		for _, c := range r {
			shown := c.text
			if c.name {
				shown = code(strings.ReplaceAll(c.text, "|", "?"))
			}
			text += " " + shown + " |"
			if c.count {
				rule += " --: |"
			} else {
				rule += " --- |"
			}
		}
		if i == 0 {
			header = text + "\n" + rule + "\n"
		} else {
			lines = append(lines, line{kind: row, text: text})
		}
	}
	return header, lines
}
