package report

import (
	"regexp"
	"slices"
	"strings"

	"slipway/internal/plan"
)

// Masked returns e with mask applied to every text that can contain a value: messages, and the
// instance keys in addresses. If mask would change an attribute's value, only the attribute's name
// is kept. Names of environments, layers, resources, attributes and outputs are in the repository
// or in a provider's schema, and actions are OpenTofu's words. They are kept even if a secret has
// the same text.
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

// instanceKey matches the key in x.y["key"].
var instanceKey = regexp.MustCompile(`\["(?:[^"\\]|\\.)*(?:"\]|$)`)

// MaskAddress applies mask to the instance keys in an address.
func MaskAddress(address string, mask func(string) string) string {
	return instanceKey.ReplaceAllStringFunc(address, func(key string) string {
		if !strings.HasSuffix(key[2:], `"]`) {
			return key[:2] + mask(key[2:])
		}
		return key[:2] + mask(key[2:len(key)-2]) + key[len(key)-2:]
	})
}
