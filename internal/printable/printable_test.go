package printable

import (
	"os/exec"
	"strings"
	"testing"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ text, terminal, line, log, word string }{
		{"plain", "plain", "plain", "plain", "plain"},
		{"a/b-1.2_c@d%e+f=g:h,i", "a/b-1.2_c@d%e+f=g:h,i", "a/b-1.2_c@d%e+f=g:h,i", "a/b-1.2_c@d%e+f=g:h,i", "a/b-1.2_c@d%e+f=g:h,i"},
		{"", "", "", "", "''"},
		{"two words", "two words", "two words", "two words", "'two words'"},
		{"Übung", "Übung", "Übung", "Übung", "'Übung'"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m", "[31mred[0m", "[31mred[0m", `$'\x1b[31mred\x1b[0m'`},
		{"a\rb\x07\x7f\u009b1m", "ab1m", "ab1m", "ab1m", `$'a\x0db\x07\x7f\xc2\x9b1m'`},
		{"x\u202egnp.exe\u200b", "xgnp.exe", "xgnp.exe", "xgnp.exe", `$'x\xe2\x80\xaegnp.exe\xe2\x80\x8b'`},
		{"a\nb\tc", "a\nb\tc", `a\nb\tc`, "a\nb\tc", `$'a\x0ab\x09c'`},
		{"::error::x", "::error::x", "::error::x", ": :error::x", "::error::x"},
		{"a\n  ::add-mask::x", "a\n  ::add-mask::x", `a\n  ::add-mask::x`, "a\n  : :add-mask::x", `$'a\x0a  ::add-mask::x'`},
		{"\x1b::error::x", "::error::x", "::error::x", ": :error::x", `$'\x1b::error::x'`},
		{"\ufeff::error::x", "::error::x", "::error::x", ": :error::x", `$'\xef\xbb\xbf::error::x'`},
		{"a::b::c", "a::b::c", "a::b::c", "a::b::c", "a::b::c"},
		{"a ##[error]x", "a ##[error]x", "a ##[error]x", "a ## [error]x", "'a ##[error]x'"},
		{"#\u200b#[error]x", "##[error]x", "##[error]x", "## [error]x", `$'#\xe2\x80\x8b#[error]x'`},
		{"$(id)`id`", "$(id)`id`", "$(id)`id`", "$(id)`id`", "'$(id)`id`'"},
		{"it's", "it's", "it's", "it's", `'it'\''s'`},
		{"it's\a", "it's", "it's", "it's", `$'it\'s\x07'`},
		{"~/x", "~/x", "~/x", "~/x", "'~/x'"},
		{"-rf;x", "-rf;x", "-rf;x", "-rf;x", "'-rf;x'"},
		{"bad\xffbyte", "badbyte", "badbyte", "badbyte", `$'bad\xffbyte'`},
	} {
		for place, got := range map[string][2]string{
			"terminal": {Terminal(c.text), c.terminal}, "line": {Line(c.text), c.line},
			"log": {Log(c.text), c.log}, "word": {Word(c.text), c.word},
		} {
			if got[0] != got[1] {
				t.Errorf("%s of %q: got %q, want %q", place, c.text, got[0], got[1])
			}
		}
		// What Bash makes of the word is the text.
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+Word(c.text)).Output()
		if err != nil || string(out) != c.text {
			t.Errorf("bash reads %s as %q, %v", Word(c.text), out, err)
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add("a\n ::x##[y")
	f.Add("::\n::")
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.Lines(Log(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("%q becomes %q", text, line)
			}
		}
	})
}
