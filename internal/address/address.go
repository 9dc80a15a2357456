// Package address handles lists of resource addresses, as people type them.
package address

import (
	"slices"
	"strings"

	"slipway/internal/refusal"
)

// Sorted is a copy of a list, in order and without duplicates.
func Sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Split takes a flag's list of addresses apart, sorted. A comma may stand in the
// key of a for_each, which is in brackets and quotes.
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
		return nil, refusal.New(flag+`='a.b["c"],d.e'`, "%s has a quote that does not end: %s", flag, text)
	}
	end()
	return Sorted(list), nil
}

// OfType says whether an address can be that of a resource of a known type, without asking
// anybody. An index that contains such a name may make it say yes wrongly.
func OfType(address string, known func(resourceType string) bool) bool {
	return slices.ContainsFunc(strings.Split(address, "."), known)
}
