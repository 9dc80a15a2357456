package redact

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// shortest is the minimum length of a value whose encodings are recognised.
	shortest = 8
	// shortestPlain is the minimum length of a value that is recognised as it is.
	shortestPlain = 4
	// For a value longer than common, only the most common encodings are searched. A value longer
	// than lined is not searched line by line.
	common = 4 << 10
	lined  = 4 << 10
)

// formsOf lists every form in which a value is recognised. Not every part of a structured value,
// such as a configuration file, is secret: its parts are added separately.
func formsOf(value string, structured bool) []form {
	var forms []form
	untrimmed := value
	value = strings.TrimSpace(value)
	for _, spelling := range spellings(value) {
		all, sure := meaning(spelling)
		forms = append(forms, form{bytes: all, pieces: !structured, lines: lineStarts(spelling), public: publicHalf(spelling, all)})
		if len(sure) != len(all) {
			forms = append(forms, form{bytes: sure, pieces: !structured})
		}
	}
	list := encodings(value)
	if value != untrimmed {
		// A key that ends in a line break is encoded together with it.
		list = append(list, base64.StdEncoding.EncodeToString([]byte(untrimmed)), base64.URLEncoding.EncodeToString([]byte(untrimmed)))
	}
	for _, encoded := range list {
		all, _ := meaning(encoded)
		forms = append(forms, form{bytes: all, pieces: true})
	}
	return forms
}

// lineStarts returns the positions in a value's meaning at which its lines begin.
func lineStarts(value string) (at []int) {
	n := 0
	for line := range strings.Lines(value) {
		at = append(at, n)
		all, _ := meaning(line)
		n += len(all)
	}
	return at
}

// spellings lists the spellings of a value that could be read differently, because some of its own
// characters look like an escape.
func spellings(value string) []string {
	list := []string{value}
	if valid := string([]rune(value)); valid != value {
		list = append(list, valid) // how JSON encoders write invalid UTF-8
	}
	if len(value) > common || !strings.ContainsAny(value, "\\%&${}\x1b") {
		return list
	}
	return append(list, allSpellings(value)...)
}

func allSpellings(value string) (list []string) {
	quoted := quotations(value)
	list = append(list, quoted...)
	for _, q := range quoted {
		list = append(list, quotations(q)...) // JSON within JSON
	}
	query := url.QueryEscape(value)
	var each strings.Builder // byte by byte, so that no two bytes form an escape
	for i := range len(value) {
		each.WriteString("%" + hex.EncodeToString([]byte{value[i]}))
	}
	list = append(list, each.String())
	return append(list, query, url.PathEscape(value), url.QueryEscape(query), html.EscapeString(value), strings.ReplaceAll(value, "'", `'\''`))
}

// quotations returns text as the content of a double-quoted string: in JSON with and without its
// HTML escapes, in Go, and in OpenTofu's language.
func quotations(text string) []string {
	var raw bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false)
	// A string always encodes.
	_ = encoder.Encode(text)
	escaped, _ := json.Marshal(text)
	// Keep what is between the first and the last quote: the encoder adds a line break.
	unquote := func(s string) string { return s[1:strings.LastIndexByte(s, '"')] }
	template := strings.NewReplacer("${", "$${", "%{", "%%{")
	return []string{
		unquote(raw.String()),
		unquote(string(escaped)),
		unquote(strconv.Quote(text)),
		template.Replace(unquote(raw.String())),
	}
}

// encodings lists text in the digits and alphabets in which programs print bytes.
func encodings(text string) []string {
	list := []string{hex.EncodeToString([]byte(text))}
	if len(text) > common {
		return append(list, cores64(base64.StdEncoding, text)...)
	}
	list = append(list, strings.ToUpper(list[0]), decimals(text))
	texts := []string{text}
	for _, quoted := range quotations(text)[:2] { // JSON in base64
		if !slices.Contains(texts, quoted) {
			texts = append(texts, quoted)
		}
	}
	for _, text := range texts {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			whole := encoding.EncodeToString([]byte(text))
			list = append(list, whole, strings.TrimRight(whole, "="))
			for _, core := range cores64(encoding, text) {
				list = append(list, core)
				list = append(list, cores64(encoding, core)...)
			}
			list = append(list, encoding.EncodeToString([]byte(whole)))
		}
		for _, encoding := range []*base32.Encoding{base32.StdEncoding, base32.HexEncoding} {
			whole := encoding.EncodeToString([]byte(text))
			list = append(list, whole, strings.TrimRight(whole, "="))
			list = append(list, cores32(encoding, text)...)
		}
	}
	return list
}

// decimals returns the bytes as Go prints a slice of them and JSON an array. The separators are
// skipped when reading.
func decimals(text string) string {
	var b []byte
	for i := range len(text) {
		b = strconv.AppendUint(b, uint64(text[i]), 10)
	}
	return string(b)
}

// cores64 returns the characters that text alone determines when it is part of something longer,
// such as the password in user:password.
func cores64(encoding *base64.Encoding, text string) (list []string) {
	for offset := range 3 {
		shifted := encoding.EncodeToString(append(make([]byte, offset), text...))
		// Each character encodes 6 of the bytes' 8 bits.
		list = append(list, shifted[(offset*8+5)/6:(offset+len(text))*8/6])
	}
	return list
}

func cores32(encoding *base32.Encoding, text string) (list []string) {
	for offset := range 5 {
		shifted := encoding.EncodeToString(append(make([]byte, offset), text...))
		list = append(list, shifted[(offset*8+4)/5:(offset+len(text))*8/5])
	}
	return list
}
