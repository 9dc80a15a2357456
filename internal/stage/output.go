package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway/internal/plan"
	"slipway/internal/tofu"
)

// output shows the outputs, the sensitive ones by name only.
func (s *session) output(ctx context.Context) error {
	return s.each(ctx, func(r *root) error {
		outputs, err := r.outputs(ctx)
		if err != nil {
			return err
		}
		r.showOutputs(outputs)
		return nil
	})
}

// stateList shows the addresses in the state.
func (s *session) stateList(ctx context.Context) error {
	return s.each(ctx, func(r *root) error { return r.listState(ctx) })
}

func (r *root) listState(ctx context.Context) error {
	list, code, err := r.tool.Output(ctx, tofu.StateListArgs()...)
	// Of a state that was never written, tofu says that there is none.
	if (err != nil || code != tofu.ExitOK) && !strings.Contains(r.noise.String(), "No state file was found") {
		return r.failed(ctx, "state list", err)
	}
	r.showAddresses(list)
	return nil
}

// showAddresses shows a list that has one on each line.
func (r *root) showAddresses(list []byte) {
	if len(bytes.TrimSpace(list)) == 0 {
		fmt.Fprintf(&r.report, "%s: nothing\n", r.name)
	}
	for line := range strings.Lines(string(list)) {
		fmt.Fprintf(&r.report, "%s: %s\n", r.name, plain(strings.TrimSpace(line)))
	}
}

// each runs f on every chosen root, connected to its state.
func (s *session) each(ctx context.Context, f func(*root) error) error {
	if err := s.timed("open", func() error { return s.open(ctx) }); err != nil {
		return err
	}
	roots, err := s.roots()
	if err != nil {
		return err
	}
	for _, r := range roots {
		if err := r.init(ctx); err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// outputs asks tofu for them.
func (r *root) outputs(ctx context.Context) (tofu.Outputs, error) {
	data, err := r.read(ctx, "output", tofu.OutputArgs()...)
	if err != nil {
		return nil, err
	}
	return r.readOutputs(data)
}

// readOutputs reads what tofu says of them. The redactor then knows the sensitive ones.
func (r *root) readOutputs(data []byte) (tofu.Outputs, error) {
	var outputs tofu.Outputs
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, fmt.Errorf("the outputs of %s are not JSON of a known version", r.name)
	}
	for name, o := range outputs {
		if o.Sensitive {
			r.hideMarked(plan.Output(name, o.Value)...)
		}
	}
	return outputs, nil
}

// showOutputs shows the outputs, the sensitive ones by name only.
func (r *root) showOutputs(outputs tofu.Outputs) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		value := "(sensitive)"
		if !o.Sensitive {
			value = outputText(o.Value)
			r.shown.WriteString(value + "\n")
		}
		r.report.add(func(mask func(string) string) string {
			return fmt.Sprintf("%s: %s = %s\n", r.name, plain(name), mask(plain(value)))
		})
	}
}

// outputText is a text as it is, and anything else as JSON.
func outputText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return ""
	}
	return compact.String()
}
