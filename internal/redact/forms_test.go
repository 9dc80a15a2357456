package redact

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"
)

// Forms in which programs print a value, computed without the package's own code.
var forms = map[string]func(string) string{
	"as it is":                    func(s string) string { return s },
	"JSON":                        jsonText,
	"JSON, \\u for all but ASCII": func(s string) string { return escapeUnits(jsonText(s), `\u%04x`) },
	"JSON, \\U digits":            func(s string) string { return escapeUnits(jsonText(s), `\u%04X`) },
	"JSON in JSON":                func(s string) string { return jsonText(jsonText(s)) },
	"JSON in JSON in JSON":        func(s string) string { return jsonText(jsonText(jsonText(s))) },
	"\\u in JSON":                 func(s string) string { return jsonText(escapeUnits(jsonText(s), `\u%04x`)) },
	"%q":                          func(s string) string { return strings.Trim(fmt.Sprintf("%q", s), `"`) },
	"%+q":                         func(s string) string { return strings.Trim(fmt.Sprintf("%+q", s), `"`) },
	"\\x for all":                 func(s string) string { return eachByte(s, `\x%02x`) },
	"octal":                       func(s string) string { return eachByte(s, `\%03o`) },
	"XML":                         xmlText,
	"XML, decimal":                func(s string) string { return eachRune(s, "&#%d;") },
	"XML, hexadecimal":            func(s string) string { return eachRune(s, "&#x%x;") },
	"XML, HEXADECIMAL":            func(s string) string { return eachRune(s, "&#X%X;") },
	"HTML":                        html.EscapeString,
	"HTML in HTML":                func(s string) string { return html.EscapeString(html.EscapeString(s)) },
	"HTML in JSON":                func(s string) string { return jsonText(html.EscapeString(s)) },
	"query":                       url.QueryEscape,
	"query, small digits":         func(s string) string { return smallDigits(url.QueryEscape(s)) },
	"path":                        url.PathEscape,
	"query twice":                 func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"query three times":           func(s string) string { return url.QueryEscape(url.QueryEscape(url.QueryEscape(s))) },
	"all of it in %":              func(s string) string { return eachByte(s, "%%%02x") },
	"query in JSON":               func(s string) string { return jsonText(url.QueryEscape(s)) },
	"JSON in a query":             func(s string) string { return url.QueryEscape(jsonText(s)) },
	"shell":                       func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) },
	"OpenTofu":                    func(s string) string { return strings.ReplaceAll(jsonText(s), "${", "$${") },
	"hex":                         func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":                         func(s string) string { return fmt.Sprintf("%X", s) },
	"hex, spaced":                 func(s string) string { return fmt.Sprintf("% x", s) },
	"HEX, spaced":                 func(s string) string { return fmt.Sprintf("% X", s) },
	"hex, colons":                 func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% x", s), " ", ":") },
	"bytes":                       func(s string) string { return fmt.Sprintf("%d", []byte(s)) },
	"bytes, JSON":                 func(s string) string { return strings.ReplaceAll(fmt.Sprintf("%d", []byte(s)), " ", ",") },
	"base64":                      func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, raw":                 func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 for URLs":             func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 of base64": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	},
	"base64 of JSON": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(`{"k":"` + jsonText(s) + `"}`)) },
	"base64 of JSON, not for HTML": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(`{"k":"` + plainJSON(s) + `"}`))
	},
	"base64 of user:password": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
	"base64 of JSON with base64 of both": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(`{"auth":"` + base64.StdEncoding.EncodeToString([]byte("me:"+s)) + `"}`))
	},
	"base64 in a query": func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))) },
	"base32":            func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
	"base32, no padding": func(s string) string {
		return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(s))
	},
	"base32hex": func(s string) string { return base32.HexEncoding.EncodeToString([]byte(s)) },
	"base32hex, no padding": func(s string) string {
		return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(s))
	},
}

// Ways in which an output puts something between the parts of a value.
var layouts = map[string]func(string) string{
	"in one line":      func(s string) string { return s },
	"wrapped at 7":     func(s string) string { return wrapped(s, 7, "\n") },
	"wrapped at 19":    func(s string) string { return wrapped(s, 19, "\r\n") },
	"wrapped at 64":    func(s string) string { return wrapped(s, 64, "\n      ") },
	"wrapped in shell": func(s string) string { return wrapped(s, 30, " \\\n  ") },
	"in pieces":        func(s string) string { return wrapped(s, 33, `", "`) },
	"wrapped in JSON":  func(s string) string { return wrapped(s, 76, `\n`) },
	"in colours":       func(s string) string { return "\x1b[31m" + wrapped(s, 12, "\x1b[0m\x1b[1;32m") + "\x1b[0m" },
}

// TestForms: no form of a secret passes, in any layout, whole or in small writes. Its
// parts that are longer than a few bytes do not, either.
func TestForms(t *testing.T) {
	secrets := map[string]string{
		"a token":    "hunter2+T0ken/of-Café",
		"odd":        `s3cr3t "quo'ted" & ${x} <é😀> 100% C:\new`,
		"long":       made(300, alphanumeric+"/+=-_!"),
		"a key":      privateKey + strings.ReplaceAll(privateKey, "MC4C", "NC4D"),
		"JSON":       `{"kind":"x","password":"pässword <1> & more"}`,
		"not UTF-8":  "bytes \xff\xfe of a key",
		"plain word": "correcthorsebattery",
	}
	for name, secret := range secrets {
		set := New(secret)
		for form, encode := range forms {
			encoded := encode(secret)
			for layout, lay := range layouts {
				text := lay(encoded)
				// An escape that is cut in two is no longer an escape.
				if layout != "in one line" && strings.ContainsAny(encoded, `\%&`) {
					continue
				}
				whole := set.String("before: " + text + " :after")
				allowed := 9
				if strings.Contains(form, "base64 of") {
					allowed = 20 // what is encoded together with it
				}
				if left := leftOf(encoded, whole); len(left) > allowed {
					t.Errorf("%s, %s, %s: %q is left of %q: %q", name, form, layout, left, text, whole)
				}
				if !strings.HasPrefix(whole, "before: ") || !strings.HasSuffix(whole, " :after") {
					t.Errorf("%s, %s, %s: what is around is gone: %q", name, form, layout, whole)
				}
				if cut := inPieces(set, "before: "+text+" :after", rand.New(rand.NewPCG(1, 1))); cut != whole {
					t.Errorf("%s, %s, %s: in pieces it is %q, and else %q", name, form, layout, cut, whole)
				}
			}
		}
	}
}

// leftOf is the longest part of a form that is in a text, but for the words around.
func leftOf(form, text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "before: "), " :after")
	left := ""
	for begin := range len(form) {
		for end := begin + len(left) + 1; end <= len(form) && strings.Contains(text, form[begin:end]); end++ {
			left = form[begin:end]
		}
	}
	return left
}

func jsonText(s string) string {
	data, _ := json.Marshal(s)
	return string(data[1 : len(data)-1])
}

// plainJSON leaves <, > and & as they are.
func plainJSON(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s)
	return b.String()[1 : b.Len()-2]
}

func xmlText(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

func escapeUnits(s, format string) string {
	var b strings.Builder
	for _, c := range s {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}

func eachByte(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func eachRune(s, format string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func wrapped(s string, columns int, between string) string {
	var b strings.Builder
	for len(s) > columns {
		b.WriteString(s[:columns] + between)
		s = s[columns:]
	}
	return b.String() + s
}
