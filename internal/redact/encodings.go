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
	// shortest is the length from which a value is recognised in its encodings.
	shortest = 8
	// shortestPlain is the length from which a value is recognised as it is.
	shortestPlain = 4
	// Of a value that is longer than common, only the commonest encodings are
	// looked for; of one longer than lined, no line for its own sake.
	common = 4 << 10
	lined  = 4 << 10
)

// formsOf lists everything by which a value is recognised. A structured value, such
// as a configuration file, is no secret in every part: its parts are added on
// their own.
func formsOf(value string, structured bool) []form {
	var forms []form
	untrimmed := value
	value = strings.TrimSpace(value)
	for _, spelling := range spellings(value) {
		all, sure := meaning(spelling)
		forms = append(forms, form{bytes: all, pieces: !structured, lines: lineStarts(spelling)})
		if len(sure) != len(all) {
			forms = append(forms, form{bytes: sure, pieces: !structured})
		}
	}
	list := encodings(value)
	if value != untrimmed {
		// A key that ends in a line break is encoded with it.
		list = append(list, base64.StdEncoding.EncodeToString([]byte(untrimmed)), base64.URLEncoding.EncodeToString([]byte(untrimmed)))
	}
	for _, encoded := range list {
		all, _ := meaning(encoded)
		forms = append(forms, form{bytes: all, pieces: true})
	}
	return forms
}

// lineStarts are the places in the meaning of a value where its lines begin.
func lineStarts(value string) (at []int) {
	n := 0
	for line := range strings.Lines(value) {
		at = append(at, n)
		all, _ := meaning(line)
		n += len(all)
	}
	return at
}

// spellings are the ways to write a value whose reading is not surely the same:
// where its own characters look like an escape.
func spellings(value string) []string {
	list := []string{value}
	if valid := string([]rune(value)); valid != value {
		list = append(list, valid) // as encoders of JSON write what is no UTF-8
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
	var each strings.Builder // byte by byte, where no two make an escape
	for i := range len(value) {
		each.WriteString("%" + hex.EncodeToString([]byte{value[i]}))
	}
	list = append(list, each.String())
	return append(list, query, url.PathEscape(value), url.QueryEscape(query), html.EscapeString(value), strings.ReplaceAll(value, "'", `'\''`))
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
	// What stands between the first quote and the last: the encoder ends its line.
	unquote := func(s string) string { return s[1:strings.LastIndexByte(s, '"')] }
	template := strings.NewReplacer("${", "$${", "%{", "%%{")
	return []string{
		unquote(raw.String()),
		unquote(string(escaped)),
		unquote(strconv.Quote(text)),
		template.Replace(unquote(raw.String())),
	}
}

// encodings lists text in the digits and alphabets that programs print bytes in.
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

// decimals are the bytes as Go prints a slice of them, and JSON an array: what
// stands between them is passed over.
func decimals(text string) string {
	var b []byte
	for i := range len(text) {
		b = strconv.AppendUint(b, uint64(text[i]), 10)
	}
	return string(b)
}

// cores64 are the characters that text alone decides where it is part of something
// longer, such as the password in user:password.
func cores64(encoding *base64.Encoding, text string) (list []string) {
	for offset := range 3 {
		shifted := encoding.EncodeToString(append(make([]byte, offset), text...))
		// Each character holds 6 bits of the bytes' 8.
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
