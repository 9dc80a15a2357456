package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	// shortest is the length from which a value is recognised in its encodings.
	shortest = 8
	// shortestPlain is the length from which a value is recognised as it is.
	shortestPlain = 4
	// A pattern that is longer than longest is known by its pieces. Together they
	// cover it, so a long value is masked whole, and little needs to be held back.
	longest = 64
	piece   = 32
)

// patternsOf lists everything by which a value is recognised: the value, each of
// its lines, and the encodings of all of these.
func patternsOf(value string) []string {
	var patterns []string
	add := func(p string) { patterns = append(patterns, pieces(p)...) }
	texts := []string{value, strings.TrimSpace(value)}
	for line := range strings.Lines(value) {
		texts = append(texts, strings.TrimSpace(line))
	}
	for _, text := range texts {
		if len(text) < shortest {
			continue
		}
		for _, p := range encodings(text) {
			if len(p) >= shortest {
				add(p)
			}
		}
	}
	if trimmed := strings.TrimSpace(value); len(patterns) == 0 && len(trimmed) >= shortestPlain {
		add(trimmed)
	}
	return patterns
}

// pieces cuts what is too long for one pattern. The last piece overlaps the one
// before it.
func pieces(p string) []string {
	if len(p) <= longest {
		return []string{p}
	}
	var cut []string
	for at := 0; at+piece <= len(p); at += piece {
		cut = append(cut, p[at:at+piece])
	}
	return append(cut, p[len(p)-piece:])
}

// encodings lists text as the programs that we run may print it.
func encodings(text string) []string {
	list := []string{
		text,
		strings.ReplaceAll(text, "\n", "\r\n"),
		hex.EncodeToString([]byte(text)),
		strings.ToUpper(hex.EncodeToString([]byte(text))),
		html.EscapeString(text),
		strings.ReplaceAll(text, "'", `'\''`), // within a shell's single quotes
	}
	list = append(list, base64s(text)...)
	list = append(list, urls(text)...)
	for _, quoted := range quotations(text) {
		list = append(list, quoted)
		list = append(list, quotations(quoted)...) // JSON within JSON
	}
	return list
}

// quotations are text within the double quotes of JSON, with and without its
// escapes for HTML, of Go, and of OpenTofu's language.
func quotations(text string) []string {
	var raw bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false)
	// A string always encodes.
	_ = encoder.Encode(text)
	escaped, _ := json.Marshal(text)
	unquote := func(s string) string {
		s = strings.TrimSpace(s)
		return s[1 : len(s)-1]
	}
	template := strings.NewReplacer("${", "$${", "%{", "%%{")
	return []string{
		unquote(raw.String()),
		unquote(string(escaped)),
		unquote(strconv.Quote(text)),
		template.Replace(unquote(raw.String())),
	}
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// urls are the ways to write text in a URL, with either case of the digits.
func urls(text string) []string {
	var all strings.Builder
	for i := range len(text) {
		if c := text[i]; c == '-' || c == '_' || c == '.' || c == '~' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			all.WriteByte(c)
		} else {
			all.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	var list []string
	for _, p := range []string{url.QueryEscape(text), url.PathEscape(text), url.UserPassword("", text).String()[1:], all.String()} {
		list = append(list, p, percent.ReplaceAllStringFunc(p, strings.ToLower))
	}
	return list
}

// base64s are the encodings of text alone, also wrapped, and the characters that
// it alone decides where it is part of something longer, such as the password in
// user:password.
func base64s(text string) []string {
	var list []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := encoding.EncodeToString([]byte(text))
		list = append(list, whole)
		for _, columns := range []int{64, 76} {
			for at := columns; at < len(whole)+columns; at += columns {
				list = append(list, whole[at-columns:min(at, len(whole))])
			}
		}
		for offset := range 3 {
			shifted := encoding.EncodeToString(append(make([]byte, offset), text...))
			// Each character holds 6 bits of the bytes' 8.
			list = append(list, shifted[(offset*8+5)/6:(offset+len(text))*8/6])
		}
	}
	return list
}
