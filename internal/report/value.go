package report

import (
	"slices"
	"strings"

	"slipway/internal/plan"
)

// describe describes what happens to attributes: the names of those without a shown value, and the
// values, one per line.
func describe(attributes, later []string, values []plan.Value) (unsaid, lines []string) {
	for _, attribute := range attributes {
		here := slices.DeleteFunc(slices.Clone(values), func(v plan.Value) bool { return v.Attribute() != attribute })
		for _, v := range here {
			if v.HasValue() {
				lines = append(lines, valueText(v))
			}
		}
		partly := slices.ContainsFunc(here, func(v plan.Value) bool { return !v.HasValue() })
		if partly || len(here) == 0 && !slices.Contains(later, attribute) {
			unsaid = append(unsaid, attribute)
		}
	}
	return unsaid, lines
}

// knownLater counts the attributes whose new value is only known after the apply.
func knownLater(later []string) string {
	return when(len(later) > 0, number(len(later))+" known after apply")
}

// madeOf returns the values of a created resource.
func madeOf(values []plan.Value) []string {
	var texts []string
	for _, v := range values {
		if v.HasValue() {
			texts = append(texts, valueText(v))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return []string{names(texts)}
}

// valueText writes path: old → new, or path: +added, -removed.
func valueText(v plan.Value) string {
	var parts []string
	switch {
	case v.Old != "":
		parts = append(parts, v.Old+" → "+v.New)
	case v.New != "":
		parts = append(parts, v.New)
	}
	for _, a := range v.Added {
		parts = append(parts, "+"+a)
	}
	for _, r := range v.Removed {
		parts = append(parts, "-"+r)
	}
	text := strings.Join(parts, ", ")
	if v.More > 0 {
		text += " and " + number(v.More) + " more"
	}
	return shown(v.Path+": "+text, longestText)
}

// Describe describes on one line what happens to attributes.
func Describe(attributes, later []string, values []plan.Value) string {
	unsaid, lines := describe(attributes, later, values)
	parts := append(lines, unsaid...)
	if text := knownLater(later); text != "" {
		parts = append(parts, text)
	}
	return names(parts)
}
