package foreign

import (
	"fmt"
	"slices"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/printable"
)

// Judge refuses the first finding that the environment does not allow. The hint lists everything
// that would have to be allowed.
func Judge(findings []Finding, e *environment.Environment) error {
	allowed := map[string][]string{}
	if e.Allow != nil {
		allowed = map[string][]string{Program: e.Allow.Programs, Module: e.Allow.Modules}
		for _, provider := range e.Allow.Providers {
			allowed[Provider] = append(allowed[Provider], Address(provider))
		}
	}
	wanted := map[string][]string{Program: slices.Clone(allowed[Program]), Module: slices.Clone(allowed[Module]), Provider: slices.Clone(allowed[Provider])}
	var refused []Finding
	for _, f := range findings {
		if f.Name == "" {
			return fault.Refuse(f.Hint, "%s:%d: %s", printable.Line(f.File), f.Line, f.What)
		}
		if slices.Contains(allowed[f.Kind], f.Name) {
			continue
		}
		refused = append(refused, f)
		if !slices.Contains(wanted[f.Kind], f.Name) {
			wanted[f.Kind] = append(wanted[f.Kind], f.Name)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	var lists []string
	for _, kind := range []string{Program, Module, Provider} {
		if names := wanted[kind]; len(names) > 0 {
			for i, name := range names {
				if strings.ContainsAny(name, ` :?&#,[]{}"'`) {
					names[i] = fmt.Sprintf("%q", name)
				}
			}
			lists = append(lists, kind+": ["+strings.Join(names, ", ")+"]")
		}
	}
	more := ""
	if n := len(refused) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	f := refused[0]
	return fault.Refuse(fmt.Sprintf("to allow it, write into environments/%s/environment.yaml: allow: {%s}", e.Name, strings.Join(lists, ", ")),
		"%s:%d: %s, and environment %s does not allow it%s", printable.Line(f.File), f.Line, f.What, e.Name, more)
}
