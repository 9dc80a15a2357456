package redact

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	token = `s3cr3t/T0ken+with "quotes" & 'ticks' ${x} <é>`
	pem   = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\nNMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ\n-----END KEY-----\n"
)

func encode64(e *base64.Encoding, text string) string { return e.EncodeToString([]byte(text)) }

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

func smallDigits(text string) string { return percent.ReplaceAllStringFunc(text, strings.ToLower) }

func wrap(text string, columns int) string {
	var out strings.Builder
	for len(text) > columns {
		out.WriteString(text[:columns] + "\n")
		text = text[columns:]
	}
	return out.String() + text
}

// TestEncodings prints the secrets by the real encoders. What must not be left of
// them is everything but the words around.
func TestEncodings(t *testing.T) {
	set := New(token, pem)
	for name, c := range map[string]struct{ text, want string }{
		"plain":                     {"a " + token + " b", "a *** b"},
		"hex":                       {"a " + hex.EncodeToString([]byte(token)) + " b", "a *** b"},
		"HEX":                       {"a " + strings.ToUpper(hex.EncodeToString([]byte(token))) + " b", "a *** b"},
		"JSON":                      {asJSON(t, map[string]string{"k": token}), `{"k":"***"}`},
		"JSON within JSON":          {asJSON(t, asJSON(t, map[string]string{"k": token})), `"{\"k\":\"***\"}"`},
		"Go":                        {strconv.Quote(token), `"***"`},
		"HTML":                      {html.EscapeString("<a>" + token), "&lt;a&gt;***"},
		"URL query":                 {"?k=" + url.QueryEscape(token) + "&x", "?k=***&x"},
		"URL path":                  {"/" + url.PathEscape(token) + "/x", "/***/x"},
		"URL, small digits":         {"?k=" + smallDigits(url.QueryEscape(token)) + "&x", "?k=***&x"},
		"user and password":         {(&url.URL{Scheme: "https", Host: "h", User: url.UserPassword("me", token)}).String(), "https://me:***@h"},
		"shell":                     {"'" + strings.ReplaceAll(token, "'", `'\''`) + "'", "'***'"},
		"base64":                    {"a " + encode64(base64.StdEncoding, token) + " b", "a *** b"},
		"base64 for URLs":           {"a " + encode64(base64.URLEncoding, token) + " b", "a *** b"},
		"several lines":             {pem, "***\n"},
		"several lines, indented":   {strings.ReplaceAll("\n"+strings.TrimSpace(pem), "\n", "\n  "), "\n  ***"},
		"several lines, JSON":       {asJSON(t, pem), `"***\n"`},
		"one line of several":       {"x MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu x", "x *** x"},
		"base64 of several lines":   {"a " + encode64(base64.StdEncoding, pem) + " b", "a *** b"},
		"base64 wrapped at 64":      {wrap(encode64(base64.StdEncoding, pem), 64), "***"},
		"base64 wrapped at 76":      {wrap(encode64(base64.StdEncoding, pem), 76), "***"},
		"two that touch":            {token + token, "***"},
		"nothing to hide":           {"ordinary text, *** and all", "ordinary text, *** and all"},
		"the beginning of a secret": {token[:20], token[:20]},
	} {
		t.Run(name, func(t *testing.T) {
			got := set.String(c.text)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Of a value of several lines, no line is left, whatever ends them.
func TestLineEnds(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r", "\n\n", " \\\n"} {
		got := New(pem).String(strings.ReplaceAll(pem, "\n", end))
		for line := range strings.Lines(pem) {
			if strings.Contains(got, strings.TrimSpace(line)) {
				t.Errorf("lines that end in %q leave %q", end, line)
			}
		}
	}
}

// A password is most often encoded as part of user:password.
func TestBase64AtEachOffset(t *testing.T) {
	set := New("hunter2-hunter2")
	for _, user := range []string{"a:", "ab:", "abc:", "abcd:"} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			for _, after := range []string{"", "\n", "xy"} {
				text := encode64(encoding, user+"hunter2-hunter2"+after)
				got := set.String("Basic " + text)
				// At either end one character may share its bits with a neighbour.
				if left := len(got) - len("Basic ") - len(Mask); !strings.Contains(got, Mask) || left > len(encode64(encoding, user))+6 {
					t.Errorf("%q: %s became %s", user+after, text, got)
				}
			}
		}
	}
}

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		values     []string
		text, want string
	}{
		{[]string{"abcdefgh", "abcdefghij"}, "-abcdefghij-", "-***-"},           // one begins the other
		{[]string{"abcdefgh", "abcdefghij"}, "-abcdefghi-", "-***i-"},           // and only the shorter is there
		{[]string{"cdefghij", "abcdefghijkl"}, "-abcdefghijkl-", "-***-"},       // one is inside the other
		{[]string{"cdefghij", "abcdefghijkl"}, "-abcdefghijk-", "-ab***k-"},     // and only the inner is there
		{[]string{"abcdefgh", "efghijkl"}, "-abcdefghijkl-", "-***-"},           // they overlap
		{[]string{"aaaaaaaa"}, "-aaaaaaaaaaaa-", "-***-"},                       // with itself
		{[]string{"abcdefgh", "12345678"}, "abcdefgh12345678abcdefgh", "***"},   // they touch
		{[]string{"abcdefgh"}, "abcdefgabcdefgh", "abcdefg***"},                 // a false start
		{[]string{"12345678", "345678ab", "78abxxxx"}, "12345678abxx", "***xx"}, // a chain that breaks off
		{[]string{"abcd"}, "xabcdx", "x***x"},                                   // short, as it is
		{[]string{"abcd"}, "YWJjZA== 61626364", "YWJjZA== 61626364"},            // short, encoded
		{[]string{"abc"}, "xabcx", "xabcx"},                                     // too short
		{[]string{"  padded-value  \n"}, "[padded-value]", "[***]"},
		{[]string{"nabcdefX", "rabcdef%"}, `\n\rabcdef%`, `\n\***`},                // both may begin within an escape
		{[]string{kubeconfig}, "<" + strings.TrimSpace(kubeconfig) + ">", "<***>"}, // long, and made of parts
		{[]string{serviceAccount}, "<" + serviceAccount + ">", "<***>"},
		{nil, "anything", "anything"},
	} {
		if got := New(c.values...).String(c.text); got != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.values, c.text, got, c.want)
		}
	}
}

func TestSkipped(t *testing.T) {
	if got := New("", "a", "abc", "abc", " abc\n", "abcd", "abcdefgh").Skipped(); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}

// A long value is masked whole, and any large part of it too.
func TestLongValue(t *testing.T) {
	long := make([]byte, 100_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range long {
		long[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)]
	}
	set := New(string(long))
	if got := set.String("<" + string(long) + ">"); got != "<***>" {
		t.Errorf("got %d bytes: %.80q", len(got), got)
	}
	if got := set.String(string(long[5000:5100])); len(got) > 2*piece+len(Mask) {
		t.Errorf("of 100 bytes of it, %q is left", got)
	}
}

// What cannot become part of a match is handed on at once.
func TestWriterHoldsBackLittle(t *testing.T) {
	var out bytes.Buffer
	w := New("abcdefgh").Writer(&out)
	if _, err := w.Write([]byte("progress: 10%\n")); err != nil || out.String() != "progress: 10%\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if _, err := w.Write([]byte("abcdefgh, and more\n")); err != nil || !strings.HasSuffix(out.String(), "\n***, and more\n") {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if _, err := w.Write([]byte("x abcd")); err != nil || !strings.HasSuffix(out.String(), "x ") {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if err := w.Flush(); err != nil || !strings.HasSuffix(out.String(), "x abcd") {
		t.Errorf("after the end: %q, %v", out.String(), err)
	}
}

// Of a value that means up to 96 bytes, all must be there; of a longer one, a part.
func TestPartOfAValue(t *testing.T) {
	value := made(97, alphanumeric)
	if got := New(value[:96]).String(value[:95]); got != value[:95] {
		t.Errorf("95 of 96 bytes become %q", got)
	}
	if got := New(value[:96]).String("<" + value[:96] + ">"); got != "<***>" {
		t.Errorf("96 bytes become %q", got)
	}
	if got := New(value).String(value[:95]); got != Mask {
		t.Errorf("95 of 97 bytes become %q", got)
	}
}

// Each line of a value of many is masked from its beginning, however short the last.
func TestLinesOfALongValue(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("%d-%s", i, made(100*40, alphanumeric)[i*40:i*40+40]))
	}
	set := New(strings.Join(append(lines, "end"), "\n"))
	for _, line := range lines {
		if got := set.String("<" + line + ">"); !strings.HasPrefix(got, "<***") || len(got) > len("<***>")+8 {
			t.Errorf("%s becomes %s", line, got)
		}
	}
}

// A value with white space around it is recognised with and without it.
func TestPadded(t *testing.T) {
	const padded = " hunter2-hunter2\n"
	set := New(padded)
	for name, encode := range forms {
		for _, value := range []string{padded, strings.TrimSpace(padded)} {
			if strings.HasPrefix(name, "base32") && value == padded {
				continue // in base64, which a key that ends in a line break is put in, it is
			}
			if got := set.String(encode(value)); !strings.Contains(got, Mask) || strings.Contains(got, "hunter2") {
				t.Errorf("%s: %q becomes %q", name, encode(value), got)
			}
		}
	}
}

// What follows a value can turn its end into an escape.
func TestValueThatEndsInHalfAnEscape(t *testing.T) {
	for _, value := range []string{"hunter2-hunter2%", "hunter2-hunter2%4", "hunter2-hunter2\\", `hunter2-hunter2\u00`, "hunter2-hunter2&", "hunter2-hunter2&#1", "hunter2-hunter2\x1b"} {
		set := New(value)
		for _, after := range []string{"", " ", "4", "41", "n", "u0041", "0041;", "amp;", "23;", "[31m", "x"} {
			got := set.String("<" + value + after + ">")
			// A backslash at the end, and an escape of a terminal, is passed over.
			if strings.Contains(got, "hunter2") || after == "" && strings.Trim(got, "\\\x1b<>") != Mask {
				t.Errorf("%q becomes %q", value+after, got)
			}
		}
		if got := set.String(value); strings.TrimRight(got, "\\\x1b") != Mask {
			t.Errorf("%q becomes %q", value, got)
		}
	}
}

// Text that is mostly punctuation means little, and is only searched as it is spelled.
func TestPunctuation(t *testing.T) {
	for _, value := range []string{`"<", "&"`, `a,b,"c":`, `"'",'"',` + strings.Repeat(`"`, 88)} {
		set := New(value)
		for _, name := range []string{"as it is", "JSON", "JSON in JSON", "query", "path", "query twice", "HTML", "all of it in %", "shell"} {
			text := forms[name](value)
			if got := set.String("before: " + text + " :after"); got != "before: *** :after" {
				t.Errorf("%s, %s: %q becomes %q", value, name, text, got)
			}
		}
		raw := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(jsonText(value))
		if got := set.String(raw); got != Mask {
			t.Errorf("%s, JSON without escapes for HTML: %q becomes %q", value, raw, got)
		}
	}
	// A short value is recognised in no spelling but its own.
	for value, text := range map[string]string{"ab&c": "ab&amp;c", `a"b"c`: `a\"b\"c`, "a, b, c": "a%2C%20b%2C%20c"} {
		if got := New(value).String(text); got != text {
			t.Errorf("%s: %s becomes %s", value, text, got)
		}
	}
}

// Nothing of an encoding is left, wherever it ends, and of one within more, nothing
// that the value alone decides.
func TestEncodingsToTheEnd(t *testing.T) {
	for length := 8; length < 20; length++ {
		value := made(length, alphanumeric+"/+")
		set := New(value)
		for _, name := range []string{"base64", "base64, raw", "base64 for URLs", "base64 of base64", "base32", "base32, no padding", "base32hex", "base32hex, no padding", "hex", "bytes"} {
			text := forms[name](value)
			if got := strings.Trim(set.String(text), "[]"); got != Mask {
				t.Errorf("%s of %s: %s becomes %s", name, value, text, got)
			}
		}
		for _, encoding := range []*base32.Encoding{base32.StdEncoding, base32.HexEncoding} {
			for before := range 6 {
				text := encoding.EncodeToString([]byte("user:"[:before] + value + ":more"))
				// At either end one character shares its bits with a neighbour.
				if got := set.String(text); !strings.Contains(got, Mask) || len(got)-len(Mask) > (before*8+4)/5+1+9+8 {
					t.Errorf("base32 of %s behind %d bytes: %s becomes %s", value, before, text, got)
				}
			}
		}
	}
}

// A value of 4 KiB is recognised in every form.
func TestCommonLength(t *testing.T) {
	value := made(common-7, alphanumeric) + "%41${x}"
	set := New(value)
	for name, encode := range forms {
		text := encode(value)
		allowed := 3
		if strings.Contains(name, "base64 of") {
			allowed = 60 // what is encoded together with it
		}
		if got := set.String(text); len(got) > allowed+2*2 {
			t.Errorf("%s: it becomes %.200q", name, got)
		}
	}
}

// A short value is held back as long as it may go on, and no longer.
func TestWriterHoldsBackShortValues(t *testing.T) {
	var out bytes.Buffer
	w := New("abcd", "zyxwvut").Writer(&out)
	for _, c := range []struct{ write, want string }{
		{"progress: 10%\n", "progress: 10%\n"},
		{"x abcd", "x ***"},
		{"x abc", "x "},
		{"x", "abcx"},
		{"zyxwvu", ""},
		{"t.", "***."},
		{"z", ""}, {"y", ""}, {"x", ""}, {"w", ""}, {"v", ""}, {"u", ""}, {"x.", "zyxwvux."},
	} {
		out.Reset()
		if _, err := w.Write([]byte(c.write)); err != nil || out.String() != c.want {
			t.Errorf("after %q: got %q, want %q, %v", c.write, out.String(), c.want, err)
		}
	}
}

// The same for text after a value, or so far after the beginning of one that it cannot continue. A
// few bytes may look like the beginning of another.
func TestWriterHandsOn(t *testing.T) {
	long := made(300, alphanumeric)
	for _, c := range []struct {
		value, write, want string
	}{
		{long, long + strings.Repeat("!", 100), "***" + strings.Repeat("!", 90)},
		{long, long[:200] + strings.Repeat("!", 100), "***" + strings.Repeat("!", 90)},
		{"abcdefgh", "abcd" + strings.Repeat(" ", 2000), "abcd" + strings.Repeat(" ", 2000)},
	} {
		var out bytes.Buffer
		w := New(c.value).Writer(&out)
		if _, err := w.Write([]byte(c.write)); err != nil || !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("of %.20q: got %.30q, %v", c.write, out.String(), err)
		}
	}
}

// After Flush, a writer starts over.
func TestWriterAfterFlush(t *testing.T) {
	long := made(300, alphanumeric)
	var out bytes.Buffer
	w := New("abcdefgh", long).Writer(&out)
	for _, text := range []string{"x abcd", "", "efgh abcd", "+efgh\n", "", long[:150], "", long[150:160] + "\n", ""} {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := "x abcdefgh ***\n***" + long[150:160] + "\n"; out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// Wherever the writes are cut, the same is masked: also a value that begins within
// what would be an escape, or ends in one.
func TestCuts(t *testing.T) {
	for _, c := range []struct{ value, text, want string }{
		{"hunter2-hunter2", "x hunter2-hunter2 y", "x *** y"},
		{"nhunter2-hun", `C:\nhunter2-hun y`, `C:\*** y`},
		{"nhun ter2-x", `C:\nhun ter2-x y`, `C:\*** y`},
		{"41hunter-2", "%41hunter-2 y", "%*** y"},
		{"1hunter-2", "%41hunter-2 y", "%4*** y"},
		{"u00e9hunter", `\u00e9hunter y`, `\*** y`},
		{"amp;hunter-2", "&amp;hunter-2 y", "&*** y"},
		{"31mhunter-2", "\x1b[31mhunter-2 y", "\x1b[*** y"},
		{"nABCDEFGH", `\n%41%42%43%44%45%46%47%48 y`, `\*** y`},
		{"nABCDEFGH", `\n\u0041\u0042\u0043\u0044\u0045\u0046\u0047\u0048 y`, `\*** y`},
		{"n\xc3\xa9BCDEFG", `\n\u00e9BCDEFG y`, `\*** y`},
		{"abcdefg%", "x abcdefg%", "x ***"},
		{"abcdefg%", "x abcdefg% y", "x *** y"},
		{"abcdefg&", "x abcdefg&", "x ***"},
		{"nabcdef%", `\nabcdef%`, `\***`},
		{"nabcdefg", `\nabc`, `\nabc`},
		{"nabcdefg", `\nabc%`, `\nabc%`},
		{"nabcdefg", `\nabcx%`, `\nabcx%`},
		{"abcdefgh", "abcd%65%66%67%6", "abcd%65%66%67%6"},
		{"abcd", "xabcabcd", "xabc***"},
	} {
		set := New(c.value)
		if got := set.String(c.text); got != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.value, c.text, got, c.want)
		}
		for cut := range c.text {
			for second := cut; second <= len(c.text); second++ {
				var out bytes.Buffer
				w := set.Writer(&out)
				for _, part := range []string{c.text[:cut], c.text[cut:second], c.text[second:]} {
					if _, err := w.Write([]byte(part)); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Flush(); err != nil || out.String() != c.want {
					t.Errorf("%q in %q, cut at %d and %d: got %q, want %q", c.value, c.text, cut, second, out.String(), c.want)
				}
			}
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestWriterReportsErrors(t *testing.T) {
	w := New("abcdefgh").Writer(broken{})
	if _, err := w.Write([]byte("text")); err == nil {
		t.Error("a failing writer goes unnoticed")
	}
}

// inPieces writes text cut at random places.
func inPieces(set *Set, text string, random *rand.Rand) string {
	var out bytes.Buffer
	w := set.Writer(&out)
	for len(text) > 0 {
		n := 1 + random.IntN(min(len(text), 1+random.IntN(40)))
		_, _ = w.Write([]byte(text[:n]))
		text = text[n:]
	}
	_ = w.Flush()
	return out.String()
}

// FuzzWriter: a secret in any of its encodings does not pass, wherever the
// writes are cut; where they are cut does not matter; and text without a secret
// passes as it is.
func FuzzWriter(f *testing.F) {
	f.Add("hunter2-hunter2", "before ", " after", uint64(1))
	f.Add(token, "", "", uint64(2))
	f.Add(pem, "x\n", "\ny", uint64(3))
	f.Add("aaaaaaaaaa", "aaa", "aaaaaaaaaaaaa", uint64(4))
	f.Add("0123456789abcdef\x00\xff", "\xff", "\x00", uint64(5))
	f.Add("%2F%2f%25%25", "%", "%25", uint64(6))
	f.Add(strings.Repeat("0123456789", 20), "0123456789", "01234567", uint64(7))
	f.Fuzz(func(t *testing.T, secret, before, after string, seed uint64) {
		set := New(secret)
		random := rand.New(rand.NewPCG(seed, 0))
		trimmed := strings.TrimSpace(secret)
		forms := map[string]string{"plain": trimmed}
		if len(trimmed) >= shortest {
			forms["base64"] = encode64(base64.StdEncoding, trimmed)
			forms["base64 for URLs"] = encode64(base64.URLEncoding, trimmed)
			forms["hex"] = hex.EncodeToString([]byte(trimmed))
			forms["query"] = url.QueryEscape(trimmed)
			forms["path"] = url.PathEscape(trimmed)
			quoted := asJSON(t, trimmed)
			forms["JSON"] = quoted[1 : len(quoted)-1]
			forms["Go"] = strconv.Quote(trimmed)[1 : len(strconv.Quote(trimmed))-1]
			forms["HTML"] = html.EscapeString(trimmed)
		}
		for name, form := range forms {
			text := before + form + after
			whole := set.String(text)
			if cut := inPieces(set, text, random); cut != whole {
				t.Fatalf("%s: in pieces %q, whole %q", name, cut, whole)
			}
			if len(form) >= shortest && !strings.Contains(Mask+Mask, form) && strings.Contains(whole, form) {
				t.Fatalf("%s passes: %q", name, whole)
			}
		}
		// A set of something that is not there changes nothing.
		if other := New("\x01never printed\x02").String(before + after); other != before+after {
			t.Fatalf("%q became %q", before+after, other)
		}
	})
}

// A writer learns what its set learns, also while it writes, and others write, too.
func TestAddWhileWriting(t *testing.T) {
	set := New()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			w := set.Writer(discard{})
			for range 200 {
				_, _ = w.Write([]byte("secret-number-0 and secret-number-150\n"))
			}
		})
	}
	var out bytes.Buffer
	w := set.Writer(&out)
	for i := range 200 {
		secret := fmt.Sprintf("secret-number-%d", i)
		set.Add(secret)
		_, _ = w.Write([]byte("<" + secret + ">\n"))
	}
	wait.Wait()
	_ = w.Flush()
	if got := out.String(); got != strings.Repeat("<***>\n", 200) {
		t.Errorf("got %q", got)
	}
}
