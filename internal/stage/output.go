package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	return s.each(ctx, func(r *root) error {
		list, code, err := r.tool.Output(ctx, tofu.StateListArgs()...)
		if err != nil || code != tofu.ExitOK {
			// Of a state that was never written, tofu says that there is none.
			if bytes.Contains(r.noise.Bytes(), []byte("No state file was found")) {
				fmt.Fprintf(&s.report, "%s: nothing\n", r.name)
				return nil
			}
			return r.failed(ctx, "state list", err)
		}
		if len(bytes.TrimSpace(list)) == 0 {
			fmt.Fprintf(&s.report, "%s: nothing\n", r.name)
		}
		for line := range strings.Lines(string(list)) {
			fmt.Fprintf(&s.report, "%s: %s\n", r.name, plain(strings.TrimSpace(line)))
		}
		return nil
	})
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

// outputs asks tofu for them. The redactor then knows the sensitive ones.
func (r *root) outputs(ctx context.Context) (tofu.Outputs, error) {
	data, code, err := r.tool.Output(ctx, tofu.OutputArgs()...)
	if err != nil || code != tofu.ExitOK {
		return nil, r.failed(ctx, "output", err)
	}
	var outputs tofu.Outputs
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, fmt.Errorf("the outputs of %s are not JSON of a known version", r.name)
	}
	for _, o := range outputs {
		if o.Sensitive {
			r.hide(leaves(o.Value)...)
		}
	}
	return outputs, nil
}

// leaves are the texts and numbers in a JSON value.
func leaves(data json.RawMessage) []string {
	var found []string
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return found
		}
		switch token := token.(type) {
		case string:
			found = append(found, token)
		case json.Number:
			found = append(found, token.String())
		}
	}
}

func (r *root) showOutputs(outputs tofu.Outputs) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		value := "(sensitive)"
		if !o.Sensitive {
			var text string
			var compact bytes.Buffer
			switch {
			case json.Unmarshal(o.Value, &text) == nil:
				value = text
			case json.Compact(&compact, o.Value) == nil:
				value = compact.String()
			}
		}
		fmt.Fprintf(&r.report, "%s: %s = %s\n", r.name, plain(name), plain(value))
	}
}
