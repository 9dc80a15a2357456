package report

import (
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"ümläut 名前 👩":                "ümläut 名前 👩",
		"a\nb":                       `a\nb`,
		"a\x1b\t\r\x00b\u0085\u009b": "a????b??",
		"a\u202e\u2066\u200b\u200d\ufeff\u00ad\u061cb":         "a???????b",
		"\u2028\u2029\u00a0\ufe0f\u034f\u115f\U000e0041\ue000": "????????",
		"\xff\xfea\ufffd": "??a?",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	if got := shorten(strings.Repeat("a", 300), 300); len(got) != 300 {
		t.Errorf("what fits is cut: %q", got)
	}
	for _, letter := range []string{"a", "é", "名", "👩"} {
		text := strings.Repeat(letter, 400)
		got := shorten(text, 300)
		if len(got) > 300 || len(got) < 250 || !strings.HasPrefix(got, letter) || !strings.HasSuffix(got, letter) || strings.ToValidUTF8(got, "?") != got {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
	if got, want := shorten(strings.Repeat("a", 1400), 100), strings.Repeat("a", 33)+"…(1,334 bytes left out)…"+strings.Repeat("a", 33); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNames(t *testing.T) {
	if got := names([]string{"a", "b"}); got != "a, b" {
		t.Errorf("got %q", got)
	}
	got := names(strings.Split(strings.Repeat("attribute ", 1000), " "))
	if !strings.HasSuffix(got, " and 965 more") || len(got) > longestList+20 {
		t.Errorf("got %q", got)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 65536: "65,536", 1234567: "1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"a": "`a`", "a`b": "``a`b``", "``": "``` `` ```", "`": "`` ` ``", " a ": "`  a  `", " a": "` a`", `a\`: "`a\\`",
	} {
		if got := code(text); got != want {
			t.Errorf("%q became %s, want %s", text, got, want)
		}
	}
}
