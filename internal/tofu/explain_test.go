package tofu

import "testing"

// A diagnostic is explained with where it is, as far as that is known, and line by line.
func TestExplain(t *testing.T) {
	for want, d := range map[string]Diagnostic{
		"error: No wood":                          {Severity: "error", Summary: "No wood"},
		"error: No wood (a.b)":                    {Severity: "error", Summary: "No wood", Address: "a.b"},
		"error: No wood (main.tf:7)":              at(7, Diagnostic{Severity: "error", Summary: "No wood"}),
		"warning: No wood (a.b, main.tf:7)":       at(7, Diagnostic{Severity: "warning", Summary: "No wood", Address: "a.b"}),
		"error: No wood\n  Chop some.\n  \n  Go!": {Severity: "error", Summary: "No wood", Detail: "\nChop some.\n\nGo!\n"},
		"error: No[31m wood (a.b)\n  Go!":         {Severity: "error", Summary: "No\x1b[31m wood", Address: "a\x07.b", Detail: "Go\u202e!"},
	} {
		if got := Explain(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// at is a diagnostic with a place in a file.
func at(line int, d Diagnostic) Diagnostic {
	e, _ := ReadEvent([]byte(`{"type":"diagnostic","diagnostic":{"range":{"filename":"main.tf"}}}`))
	d.Range = e.Diagnostic.Range
	d.Range.Start.Line = line
	return d
}
