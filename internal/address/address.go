// Package address handles lists of resource addresses, as people type them.
package address

import (
	"slices"
	"strings"

	"slipway/internal/fault"
)

// Sorted returns a sorted copy of a list without duplicates.
func Sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Split splits a flag's list of addresses and sorts it. A for_each key, which is in brackets and
// quotes, may contain a comma.
func Split(flag, text string) ([]string, error) {
	var list []string
	var address strings.Builder
	end := func() {
		if a := strings.TrimSpace(address.String()); a != "" {
			list = append(list, a)
		}
		address.Reset()
	}
	quoted, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			end()
			continue
		}
		address.WriteRune(c)
	}
	if quoted {
		return nil, fault.Refuse(flag+`='a.b["c"],d.e'`, "%s has an unclosed quote: %s", flag, text)
	}
	end()
	return Sorted(list), nil
}

// OfType reports whether an address can be that of a resource of a known type, judging by the text
// alone. An index that contains such a name can give a false positive.
func OfType(address string, known func(resourceType string) bool) bool {
	return slices.ContainsFunc(strings.Split(address, "."), known)
}
