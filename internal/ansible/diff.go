package ansible

import (
	"encoding/json"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// A Diff is what a task would change in one file or setting.
type Diff struct{ Before, After, BeforeHeader, AfterHeader, Prepared string }

// readDiffs reads Ansible's diff: one, or a list of them.
func readDiffs(data json.RawMessage) []Diff {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	var diffs []Diff
	for _, one := range list {
		var fields struct {
			Before       json.RawMessage `json:"before"`
			After        json.RawMessage `json:"after"`
			BeforeHeader string          `json:"before_header"`
			AfterHeader  string          `json:"after_header"`
			Prepared     string          `json:"prepared"`
		}
		if json.Unmarshal(one, &fields) != nil {
			continue
		}
		d := Diff{indented(fields.Before), indented(fields.After), fields.BeforeHeader, fields.AfterHeader, fields.Prepared}
		if d.Prepared != "" || d.Before != d.After {
			diffs = append(diffs, d)
		}
	}
	return diffs
}

// indented returns a text as it is, and anything else as readable JSON.
func indented(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var any any
	if json.Unmarshal(value, &any) != nil {
		return ""
	}
	data, _ := json.MarshalIndent(any, "", "  ") // it was JSON
	return string(data) + "\n"
}

// Unified returns the diff in the form of `diff -u`.
func (d Diff) Unified() string {
	if d.Prepared != "" {
		return strings.TrimRight(d.Prepared, "\n") + "\n"
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines(d.Before), B: lines(d.After),
		FromFile: header(d.BeforeHeader, "before"), ToFile: header(d.AfterHeader, "after"), Context: 3,
	})
	if err != nil {
		return ""
	}
	return text
}

// lines splits a text into lines that all end in a line break.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimSuffix(line, "\n")+"\n")
	}
	return all
}

func header(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}
