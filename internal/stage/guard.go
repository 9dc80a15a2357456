package stage

import (
	"fmt"
	"slices"
	"strings"

	"slipway/internal/plan"
	"slipway/internal/printable"
	"slipway/internal/refusal"
)

// guard asks, in a protected environment, that --allow-destroy names what will be
// lost: no more and no less.
func (s *Run) guard(losses []string) error {
	if !s.Environment.Protected {
		return nil
	}
	losses = sorted(losses)
	allowed, err := splitAddresses("--allow-destroy", s.AllowDestroy)
	if err != nil {
		return err
	}
	if slices.Equal(losses, allowed) {
		return nil
	}
	command := fmt.Sprintf("dagger call %s --env=%s", s.Result.Stage, s.Env)
	if s.OnlyLayer != "" {
		command += " --layer=" + s.OnlyLayer
	}
	if s.PlanFolder != "" {
		command += " --plan=…"
	}
	if s.Digest != "" {
		command += " --digest=" + s.Digest
	}
	if s.Confirm != "" {
		command += " --confirm=" + s.Confirm
	}
	if len(losses) == 0 {
		return refusal.New(command, "the plan deletes, replaces and forgets nothing, and --allow-destroy names %s", allowed[0])
	}
	command += " --allow-destroy=" + printable.Word(strings.Join(losses, ","))
	for _, address := range losses {
		if !slices.Contains(allowed, address) {
			return refusal.New(command, "environment %s is protected, the plan deletes, replaces or forgets %d, and --allow-destroy does not name %s", s.Env, len(losses), address)
		}
	}
	for _, address := range allowed {
		if !slices.Contains(losses, address) {
			return refusal.New(command, "--allow-destroy names %s, which the plan does not delete, replace or forget", address)
		}
	}
	return nil
}

// onlyAllowed refuses a plan that was made after the guard, of a protected
// environment, if it loses more than was allowed.
func (r *Layer) onlyAllowed(summary plan.Summary) error {
	if !r.Environment.Protected {
		return nil
	}
	allowed, err := splitAddresses("--allow-destroy", r.AllowDestroy)
	if err != nil {
		return err
	}
	for _, address := range summary.Losses() {
		if !slices.Contains(allowed, address) {
			return fmt.Errorf("the plan of %s would now also delete, replace or forget %s, which --allow-destroy does not name", r.Name, address)
		}
	}
	return nil
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// splitAddresses takes a flag's list of addresses apart, sorted. A comma may stand in the
// key of a for_each, which is in brackets and quotes.
func splitAddresses(flag, text string) ([]string, error) {
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
	return sorted(list), nil
}
