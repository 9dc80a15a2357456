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
func (s *Run) output(ctx context.Context) error {
	return s.Each(ctx, func(r *Layer) error {
		outputs, err := r.Outputs(ctx)
		if err != nil {
			return err
		}
		r.ShowOutputs(outputs)
		return nil
	})
}

// stateList shows the addresses in the state.
func (s *Run) stateList(ctx context.Context) error {
	return s.Each(ctx, func(r *Layer) error { return r.listState(ctx) })
}

func (r *Layer) listState(ctx context.Context) error {
	list, code, err := r.Tool.Output(ctx, tofu.StateListArgs()...)
	// Of a state that was never written, tofu says that there is none.
	if (err != nil || code != tofu.ExitOK) && !strings.Contains(r.ToolOutput.String(), "No state file was found") {
		return r.Failed(ctx, "state list", err)
	}
	r.showAddresses(list)
	return nil
}

// showAddresses shows a list that has one on each line.
func (r *Layer) showAddresses(list []byte) {
	if len(bytes.TrimSpace(list)) == 0 {
		fmt.Fprintf(&r.Report, "%s: nothing\n", r.Name)
	}
	for line := range strings.Lines(string(list)) {
		fmt.Fprintf(&r.Report, "%s: %s\n", r.Name, plain(strings.TrimSpace(line)))
	}
}

// Each runs f on every chosen root, connected to its state.
func (s *Run) Each(ctx context.Context, f func(*Layer) error) error {
	if err := s.Timed("open", func() error { return s.Open(ctx) }); err != nil {
		return err
	}
	roots, err := s.Layers()
	if err != nil {
		return err
	}
	for _, r := range roots {
		if err := r.Init(ctx); err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// Outputs asks tofu for them.
func (r *Layer) Outputs(ctx context.Context) (tofu.Outputs, error) {
	data, err := r.TofuOutput(ctx, "output", tofu.OutputArgs()...)
	if err != nil {
		return nil, err
	}
	return r.readOutputs(data)
}

// readOutputs reads what tofu says of them. The redactor then knows the sensitive ones.
func (r *Layer) readOutputs(data []byte) (tofu.Outputs, error) {
	var outputs tofu.Outputs
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, fmt.Errorf("the outputs of %s are not JSON of a known version", r.Name)
	}
	for name, o := range outputs {
		if o.Sensitive {
			r.AddMarked(plan.Output(name, o.Value)...)
		}
	}
	return outputs, nil
}

// ShowOutputs shows the outputs, the sensitive ones by name only.
func (r *Layer) ShowOutputs(outputs tofu.Outputs) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		value := "(sensitive)"
		if !o.Sensitive {
			value = outputText(o.Value)
			r.shown.WriteString(value + "\n")
		}
		r.Report.Add(func(mask func(string) string) string {
			return fmt.Sprintf("%s: %s = %s\n", r.Name, plain(name), mask(plain(value)))
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
