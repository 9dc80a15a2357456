package apply

import (
	"fmt"
	"slices"
	"strings"

	"slipway/internal/address"
	"slipway/internal/fault"
	"slipway/internal/layer"
	"slipway/internal/plan"
	"slipway/internal/printable"
	"slipway/internal/run"
)

// guard refuses the losses of a protected environment unless --allow-destroy names exactly these.
func guard(r *run.Run, losses []string, o options) error {
	if !r.Environment.Protected {
		return nil
	}
	losses = address.Sorted(losses)
	allowed, err := address.Split("--allow-destroy", o.allowDestroy)
	if err != nil {
		return err
	}
	if slices.Equal(losses, allowed) {
		return nil
	}
	command := fmt.Sprintf("dagger call %s --env=%s", r.Result.Stage, r.Env)
	if r.OnlyLayer != "" {
		command += " --layer=" + r.OnlyLayer
	}
	if o.plan.Folder != "" {
		command += " --plan=…"
	}
	if o.plan.Digest != "" {
		command += " --digest=" + o.plan.Digest
	}
	if o.confirm != "" {
		command += " --confirm=" + o.confirm
	}
	if len(losses) == 0 {
		return fault.Refuse(command, "the plan deletes, replaces or forgets nothing, but --allow-destroy names %s", allowed[0])
	}
	command += " --allow-destroy=" + printable.Word(strings.Join(losses, ","))
	for _, lost := range losses {
		if !slices.Contains(allowed, lost) {
			return fault.Refuse(command, "environment %s is protected, the plan deletes, replaces or forgets %d, and --allow-destroy does not name %s", r.Env, len(losses), lost)
		}
	}
	for _, name := range allowed {
		if !slices.Contains(losses, name) {
			return fault.Refuse(command, "--allow-destroy names %s, which the plan does not delete, replace or forget", name)
		}
	}
	return nil
}

// onlyAllowed refuses a protected environment's plan that was made after guard ran and loses more
// than was allowed.
func onlyAllowed(l *layer.Layer, summary plan.Summary, o options) error {
	if !l.Environment.Protected {
		return nil
	}
	allowed, err := address.Split("--allow-destroy", o.allowDestroy)
	if err != nil {
		return err
	}
	for _, lost := range summary.Losses() {
		if !slices.Contains(allowed, lost) {
			return fmt.Errorf("the plan of %s would now also delete, replace or forget %s, which --allow-destroy does not name", l.Name, lost)
		}
	}
	return nil
}
