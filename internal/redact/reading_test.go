package redact

import (
	"strings"
	"testing"
)

// TestMeaning: what a text says, without what is passed over.
func TestMeaning(t *testing.T) {
	for text, want := range map[string]string{
		"":             "",
		"plain":        "plain",
		"a b\tc\r\nd":  "abcd",
		`"a',:+b`:      "ab",
		"\x00a\x7f":    "a",
		"é😀":           "é😀",
		"\xff{|}~!#$-": "\xff{|}~!#$-",

		// JSON, Go, C and shells.
		`a\nb\tc\a\b\f\r\v`:         "abc",
		`a\qb\\c\"`:                 "aqbc",
		`\`:                         "",
		`a\`:                        "a",
		`\x41\x5a\xe9`:              "AZ\xe9",
		`\x20\x22`:                  "",
		`\x4`:                       "x4",
		`\x4g`:                      "x4g",
		`\xG1`:                      "xG1",
		`\u00e9\u00E9`:              "éé",
		`\U0001F600\U0001f600`:      "😀😀",
		`\u00e`:                     "u00e",
		`\u00eg`:                    "u00eg",
		`\U0001F60`:                 "U0001F60",
		`\U0001F60g`:                "U0001F60g",
		`\ud83d\ude00`:              "😀",
		`\\ud83d\\ude00`:            "😀",
		`\ud83d` + `\\\\` + `ude00`: "😀",
		`\ud83d\u0041`:              "\ufffdA",
		`\ud83dude00`:               "\ufffdude00",
		`\ud83d\n`:                  "\ufffd",
		`\ud83d\ude0g`:              "\ufffdude0g",
		`\ud83d` + strings.Repeat(`\`, 14) + `ude00`:  "😀",
		`\ud83d` + strings.Repeat(`\`, 15) + `ude00x`: "\ufffd\ufffdx",
		`\U0000D83D\uDE00x`:                           "\ufffd\ufffdx",
		`\ude00x`:                                     "\ufffdx",
		`\ud83d`:                                      "ud83d",
		`\ud83d\`:                                     "ud83d",
		`\ud83d\ude0`:                                 "ud83dude0",
		`\101\000\377\047`:                            "A\xff",
		`\400`:                                        "400",
		`\18`:                                         "18",
		`\1`:                                          "1",
		`\12`:                                         "12",
		`\128`:                                        "128",
		`\1/1`:                                        "1/1",
		`\/`:                                          "/",

		// URLs, of URLs.
		"%41%5a%5A":       "AZZ",
		"%2541%252541":    "AA",
		"%25":             "%",
		"%":               "%",
		"%4":              "%4",
		"%4g":             "%4g",
		"%zz":             "%zz",
		"%20%22%2b%0a":    "",
		"%C3%A9":          "é",
		"%5Cu00e9":        "é",
		"%5cn%5C%5C":      "",
		"%255Cu00e9":      "é",
		"%1b[31mx":        "[31mx",
		"%/1%:1%@1%G1":    "%/1%1%@1%G1",
		"%`1%g1":          "%`1%g1",
		"%0a%9f%aF%fA":    "\x9f\xaf\xfa",
		"%26lt;":          "<",
		"%26amp%3B":       "&amp;",
		"%2526lt;%25":     "<%",
		"100%":            "100%",
		"100% %a":         "100%%a",
		`\u0025` + "41":   "A",
		`\u0026amp;lt;`:   "<",
		`\u005cu00e9`:     "u00e9",
		`\u003cb\u003e`:   "<b>",
		`a\u0000b\u001bc`: "abc",

		// XML and HTML, of HTML.
		"&lt;&gt;&amp;x":        "<>&x",
		"&quot;a&apos;":         "a",
		"&amp;lt;&amp;amp;gt;":  "<>",
		"&#65;&#x41;&#X5a;":     "AAZ",
		"&#233;&#xe9;&#x1F600;": "éé😀",
		"&#0000065;":            "A",
		"&#00000065;":           "&#00000065;",
		"&":                     "&",
		"&am":                   "&am",
		"&amp":                  "&amp",
		"&lx;":                  "&lx;",
		"&unknown;":             "&unknown;",
		"&#;&#x;":               "&#;&#x;",
		"&#6":                   "&#6",
		"&#":                    "&#",
		"&#x":                   "&#x",
		"&#x4":                  "&#x4",
		"&#6g;&#6a;&#xg;":       "&#6g;&#6a;&#xg;",
		"&#92;u00e9":            "é",
		"&#32;&#34;":            "",
		"&#38;lt;":              "<",
		"&#37;41":               "A",
		"&x":                    "&x",
		"a&b=c":                 "a&b=c",

		// Terminals.
		"\x1b[31mred\x1b[0m.": "red.",
		"\x1b[1;31mx":         "x",
		"\x1b[3~x\x1b[3@x":    "xx",
		"\x1b[?25hx":          "x",
		"\x1b[mx":             "x",
		"\x1b[3\x7fmx":        "x",
		"\x1bXx":              "Xx",
		"\x1b":                "",
		"\x1b[":               "[",
		"\x1b[31":             "[31",
		"a\x1b" + `\u00e9`:    "aé",
		"\x1b[" + strings.Repeat("1", longestEscape-3) + "mx": "x",
		"\x1b[" + strings.Repeat("1", longestEscape-2) + "mx": "[" + strings.Repeat("1", longestEscape-2) + "mx",
	} {
		if got, _ := meaning(text); string(got) != want {
			t.Errorf("%q means %q, and not %q", text, got, want)
		}
	}
}

// What a value surely means, whatever follows it.
func TestSureMeaning(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "": "", "%": "", `\`: "", `\ud83d\`: "",
		`ab\`: "ab", `ab\x`: "ab", `ab\x4`: "ab", `ab\x41`: "abA", `ab\n`: "ab", `ab\q`: "abq", `ab\xg`: "abxg",
		`ab\u`: "ab", `ab\u00e`: "ab", `ab\u00eg`: "abu00eg", `ab\U0001F60`: "ab", `ab\ud83d`: "ab", `ab\ud83d\`: "ab", `ab\ud83d\u`: "ab", `ab\ud83d\ude0`: "ab",
		`ab\ud83dx`: "ab\ufffdx",
		`ab\1`:      "ab", `ab\10`: "ab", `ab\4`: "ab4",
		"ab%": "ab", "ab%4": "ab", "ab%g": "ab%g", "ab%25": "ab", "ab%254": "ab", "ab%41": "abA",
		"ab&": "ab", "ab&a": "ab", "ab&amp": "ab", "ab&amp;": "ab", "ab&x": "ab&x", "ab&lt;": "ab<",
		"ab&#": "ab", "ab&#x": "ab", "ab&#x4": "ab", "ab&#4": "ab", "ab&#g": "ab&#g", "ab&#65;": "abA",
		"ab\x1b": "ab", "ab\x1b[": "ab", "ab\x1b[3": "ab", "ab\x1b[3m": "ab", "ab\x1bx": "abx",
		"ab%5C": "ab", "ab%5Cu00": "ab",
	} {
		if _, sure := meaning(text); string(sure) != want {
			t.Errorf("%q surely means %q, and not %q", text, sure, want)
		}
	}
}

// A step consumes a complete escape, and nothing after it.
func TestStepLength(t *testing.T) {
	for text, want := range map[string]int{
		"ab": 1, " b": 1, `\nb`: 2, `\qb`: 1, `\x41b`: 4, `\u00e9b`: 6, `\U0001F600b`: 10, `\ud83d\ude00b`: 12, `\ud83d\\ude00b`: 13, `\ud83db`: 6,
		`\101b`: 4, "%41b": 3, "%2541b": 5, "%4g": 1, "&lt;b": 4, "&amp;lt;b": 8, "&#65;b": 5, "&#x41;b": 6, "%26lt;b": 6, "%5Cu00e9b": 8, "%5Cnb": 4,
		"\x1b[31mb": 5, "\x1bb": 1, `\u0026lt;b`: 9,
	} {
		if s := next([]byte(text)); s.size != want {
			t.Errorf("the first step of %q takes %d bytes, and not %d", text, s.size, want)
		}
	}
}
