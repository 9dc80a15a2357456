package redact

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// naive masks a text by trying each pattern at each of its bytes.
func naive(s *Set, text string) string {
	covered := make([]bool, len(text))
	cover := func(begin, end int) {
		for i := begin; i < end; i++ {
			covered[i] = true
		}
	}
	for at := range len(text) {
		if next([]byte(text[at:])).n > 0 {
			for _, st := range s.index.starts {
				f := follow([]byte(text), at, s.index.patterns[st.pattern][st.at:], true)
				if f.count >= int(st.need) {
					cover(at, f.end)
				}
			}
		}
		for _, values := range s.short.values {
			for _, v := range values {
				if strings.HasPrefix(text[at:], v.text) {
					cover(at, at+len(v.text))
				}
			}
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !covered[i]:
			out.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			out.WriteString(Mask)
		}
	}
	return out.String()
}

// FuzzNaive: the writer finds what trying everything finds, in texts that are made
// of pieces of the secrets, of their encodings, and of what escapes are made of.
func FuzzNaive(f *testing.F) {
	for seed := range uint64(40) {
		f.Add("hunter2-hunter2", `a%5Cn\"b`, seed)
		f.Add(`C:\new\u00e9&amp;lt;%2541`, "41bcdefgh", seed)
		f.Add("aaaaaaaaaa", "aaaaaaaaaab", seed)
		f.Add("1 2 3", "\x01\x02,;:'\"", seed)
	}
	bits := []string{`\`, `%`, `&`, `amp;`, `25`, `u00e9`, `\u`, "\n", " ", `"`, "\x1b[31m", "***", "x", "\xff", `\ud83d\ude00`, "&#x41;", "%41"}
	f.Fuzz(func(t *testing.T, one, two string, seed uint64) {
		if len(one) > 90 || len(two) > 90 || strings.TrimSpace(one) == "" || strings.TrimSpace(two) == "" {
			return
		}
		set := New(one, two)
		random := rand.New(rand.NewPCG(seed, 1))
		pieces := append([]string{}, bits...)
		for _, secret := range []string{one, two} {
			forms := append(encodings("12345678"+strings.TrimSpace(secret)), secret, url.QueryEscape(secret), strconv.Quote(secret), strconv.QuoteToASCII(secret))
			for _, form := range forms {
				at := random.IntN(len(form) + 1)
				pieces = append(pieces, form, form[:at], form[at:])
			}
		}
		var text strings.Builder
		for range random.IntN(12) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		want := naive(set, text.String())
		if got := set.String(text.String()); got != want {
			t.Fatalf("of %q\ngot  %q\nwant %q", text.String(), got, want)
		}
		if got := inPieces(set, text.String(), random); got != want {
			t.Fatalf("of %q in pieces\ngot  %q\nwant %q", text.String(), got, want)
		}
	})
}

// Long values, too, but for what they repeat.
func TestNaiveLong(t *testing.T) {
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 2))
		secret := made(150+random.IntN(400), alphanumeric[:20])
		set := New(secret, secret[:60]+"-other")
		var text strings.Builder
		for range 5 {
			form := secret
			if random.IntN(2) == 0 {
				form = encodings(secret)[random.IntN(8)]
			}
			begin := random.IntN(len(form))
			end := begin + random.IntN(len(form)-begin)
			text.WriteString(form[begin:end])
			fmt.Fprint(&text, strings.Repeat("\n", random.IntN(3)), "~")
		}
		want := naive(set, text.String())
		if got := set.String(text.String()); got != want {
			t.Fatalf("of %q\ngot  %q\nwant %q", text.String(), got, want)
		}
		if got := inPieces(set, text.String(), random); got != want {
			t.Fatalf("of %q in pieces\ngot  %q\nwant %q", text.String(), got, want)
		}
	}
}
