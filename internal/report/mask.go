package report

import (
	"regexp"
	"slices"
	"strings"

	"slipway/internal/plan"
)

// Masked is e with mask over each text that can hold a value: messages, and the keys
// of instances in addresses. Of an attribute's value that it would change, the name is
// left alone. Names of environments, layers, resources, attributes
// and outputs stand in the repository or in a provider's schema, and actions are
// OpenTofu's words: they stay, though a secret may be called the same.
func (e Environment) Masked(mask func(string) string) Environment {
	e.Error, e.Hint = mask(e.Error), mask(e.Hint)
	e.Layers = slices.Clone(e.Layers)
	for i := range e.Layers {
		e.Layers[i].Warnings = maskAll(e.Layers[i].Warnings, mask)
		s := &e.Layers[i].Summary
		s.Changes, s.Drift = slices.Clone(s.Changes), slices.Clone(s.Drift)
		for j := range s.Changes {
			c := &s.Changes[j]
			c.Address, c.From = MaskAddress(c.Address, mask), MaskAddress(c.From, mask)
			c.Values = plan.Concealed(c.Values, mask)
		}
		for j := range s.Drift {
			s.Drift[j].Address = MaskAddress(s.Drift[j].Address, mask)
			s.Drift[j].Values = plan.Concealed(s.Drift[j].Values, mask)
		}
	}
	return e
}

func maskAll(texts []string, mask func(string) string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = mask(texts[i])
	}
	return texts
}

// instanceKey is what stands between the brackets in x.y["key"].
var instanceKey = regexp.MustCompile(`\["(?:[^"\\]|\\.)*(?:"\]|$)`)

// MaskAddress puts mask over the keys in an address.
func MaskAddress(address string, mask func(string) string) string {
	return instanceKey.ReplaceAllStringFunc(address, func(key string) string {
		if !strings.HasSuffix(key[2:], `"]`) {
			return key[:2] + mask(key[2:])
		}
		return key[:2] + mask(key[2:len(key)-2]) + key[len(key)-2:]
	})
}
