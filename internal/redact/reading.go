package redact

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A text is read for what it means, not for how it is spelled: escapes are resolved, and characters
// that programs insert when they wrap, quote or list a value are skipped. Values and output are
// read in the same way, so that one pattern finds a value in JSON, in JSON within JSON, in a URL
// and across lines.
const (
	passed      = 0 // white space, control characters, quotes, and , : +
	significant = 1
	special     = 2 // may begin an escape
)

var kinds = func() (k [256]byte) {
	for b := range k {
		if b > ' ' && b != 0x7f {
			k[b] = significant
		}
	}
	for _, b := range []byte(`"',:+`) {
		k[b] = passed
	}
	for _, b := range []byte("\\%&\x1b") {
		k[b] = special
	}
	return k
}()

// longestEscape limits how far to look ahead for the end of an escape.
const longestEscape = 40

// A step is one step of reading: the meaning of the next size bytes of the text, without skipped
// bytes.
type step struct {
	bytes [utf8.UTFMax]byte
	n     int
	size  int
	open  bool // the text ends before the escape is complete
}

// next reads one step of a text that is not empty.
func next(text []byte) step {
	b := text[0]
	switch kinds[b] {
	case significant:
		return step{bytes: [4]byte{b}, n: 1, size: 1}
	case passed:
		return step{size: 1}
	}
	return escape(text)
}

func escape(text []byte) step {
	var t step
	switch text[0] {
	case '\\':
		t = backslash(text)
	case 0x1b:
		return colour(text)
	default:
		t = step{bytes: [4]byte{text[0]}, n: 1, size: 1}
	}
	// Each iteration resolves one more nested encoding, as in &amp;lt; and %253C.
	for t.size < longestEscape {
		var code rune
		size := 0
		switch t.bytes[0] {
		case '%':
			code, size, t.open = hexadecimal(text[t.size:], 2)
		case '&':
			code, size, t.open = entity(text[t.size:])
		}
		if size == 0 {
			break
		}
		more := t.size + size
		if t.bytes[0] == '%' {
			t = step{bytes: [4]byte{byte(code)}, n: 1, size: more}
		} else {
			t = character(code, more)
		}
		if code == '\\' { // %5Cu00e9 is a JSON escape in a URL
			rest := text[more:min(len(text), more+longestEscape)]
			inner := backslash(append([]byte{'\\'}, rest...))
			inner.size += more - 1
			return inner
		}
	}
	if kinds[t.bytes[0]] == passed || t.bytes[0] == '\\' || t.bytes[0] == 0x1b {
		t.n = 0
	}
	return t
}

func character(code rune, size int) step {
	t := step{size: size}
	t.n = utf8.EncodeRune(t.bytes[:], code)
	return t
}

// backslash reads the escapes of JSON, Go, C and shells. A backslash that escapes nothing in any of
// them is skipped.
func backslash(text []byte) step {
	if len(text) == 1 {
		return step{size: 1, open: true}
	}
	switch c := text[1]; {
	case strings.IndexByte("abfnrtv", c) >= 0:
		return step{size: 2}
	case c == 'x':
		code, size, open := hexadecimal(text[2:], 2)
		if size > 0 {
			return step{bytes: [4]byte{byte(code)}, n: 1, size: 4}
		}
		return step{size: 1, open: open}
	case c == 'u', c == 'U':
		digits := 4
		if c == 'U' {
			digits = 8
		}
		code, size, open := hexadecimal(text[2:], digits)
		if size == 0 {
			return step{size: 1, open: open}
		}
		if c == 'u' && utf16.IsSurrogate(code) {
			return surrogates(text, code)
		}
		return character(code, 2+size)
	case c <= '3': // exactly three digits
		code := rune(0)
		for i := 1; i < 4; i++ {
			if i == len(text) {
				return step{size: 1, open: true}
			}
			if text[i] < '0' || text[i] > '7' {
				return step{size: 1}
			}
			code = code<<3 | rune(text[i]-'0')
		}
		return step{bytes: [4]byte{byte(code)}, n: 1, size: 4}
	}
	return step{size: 1}
}

// surrogates reads the second half of \ud83d\ude00. The first half is code.
func surrogates(text []byte, code rune) step {
	at := 6
	for at < len(text) && at < longestEscape/2 && text[at] == '\\' {
		at++
	}
	if at == len(text) {
		return step{size: 1, open: true}
	}
	if at == 6 || text[at] != 'u' {
		return character(utf8.RuneError, 6)
	}
	low, size, open := hexadecimal(text[at+1:], 4)
	if open {
		return step{size: 1, open: true}
	}
	pair := utf16.DecodeRune(code, low)
	if pair == utf8.RuneError {
		return character(utf8.RuneError, 6)
	}
	return character(pair, at+1+size)
}

// hexadecimal reads a number of exactly that many digits; size is 0 if there is none.
func hexadecimal(text []byte, digits int) (code rune, size int, open bool) {
	for i := range digits {
		if i == len(text) {
			return 0, 0, true
		}
		d := digit(text[i])
		if d < 0 {
			return 0, 0, false
		}
		code = code<<4 | d
	}
	return code, digits, false
}

func digit(b byte) rune {
	switch {
	case '0' <= b && b <= '9':
		return rune(b - '0')
	case 'a' <= b && b <= 'f':
		return rune(b-'a') + 10
	case 'A' <= b && b <= 'F':
		return rune(b-'A') + 10
	}
	return -1
}

var entities = map[string]rune{"amp;": '&', "lt;": '<', "gt;": '>', "quot;": '"', "apos;": '\''}

// entity reads what follows the & of an XML entity.
func entity(text []byte) (code rune, size int, open bool) {
	if len(text) == 0 {
		return 0, 0, true
	}
	if text[0] != '#' {
		for name, code := range entities {
			n := min(len(text), len(name))
			if string(text[:n]) != name[:n] {
				continue
			}
			if n == len(name) {
				return code, n, false
			}
			open = true
		}
		return 0, 0, open
	}
	base, at := rune(10), 1
	if at < len(text) && (text[at] == 'x' || text[at] == 'X') {
		base, at = 16, 2
	}
	for begin := at; at < len(text) && at-begin < 8; at++ {
		if text[at] == ';' && at > begin {
			return code, at + 1, false
		}
		d := digit(text[at])
		if d < 0 || d >= base {
			return 0, 0, false
		}
		code = code*base + d
	}
	return 0, 0, at == len(text)
}

// colour skips a terminal's control sequence, such as ESC [ 31 m.
func colour(text []byte) step {
	if len(text) == 1 {
		return step{size: 1, open: true}
	}
	if text[1] != '[' {
		return step{size: 1}
	}
	for i := 2; i < longestEscape; i++ {
		if i == len(text) {
			return step{size: 1, open: true}
		}
		if text[i] >= 0x40 && text[i] <= 0x7e {
			return step{size: i + 1}
		}
	}
	return step{size: 1}
}

// meaning reads a complete value. If the value ends with the beginning of an escape, the text after
// it may complete that escape: sure is the reading without that end.
func meaning(value string) (whole, sure []byte) {
	text := []byte(value)
	all := make([]byte, 0, len(text))
	cut := -1
	for i := 0; i < len(text); {
		t := next(text[i:])
		if t.open && cut < 0 {
			cut = len(all)
		}
		all = append(all, t.bytes[:t.n]...)
		i += t.size
	}
	if cut < 0 {
		cut = len(all)
	}
	return all, all[:cut]
}
