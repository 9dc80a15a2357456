package layer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/plan"
	"slipway/internal/printable"
	"slipway/internal/tofu"
)

// Outputs reads the outputs from tofu and masks the sensitive ones.
func (l *Layer) Outputs(ctx context.Context) (tofu.Outputs, error) {
	data, err := l.TofuOutput(ctx, "output", tofu.OutputArgs()...)
	if err != nil {
		return nil, err
	}
	return l.readOutputs(data)
}

func (l *Layer) readOutputs(data []byte) (tofu.Outputs, error) {
	var outputs tofu.Outputs
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, fmt.Errorf("the outputs of %s are not JSON of a supported version", l.Name)
	}
	for name, o := range outputs {
		if o.Sensitive {
			l.Mask.AddMarked(plan.Output(name, o.Value)...)
		}
	}
	return outputs, nil
}

// ShowOutputs adds the outputs to the report. Sensitive ones are shown by name only.
func (l *Layer) ShowOutputs(outputs tofu.Outputs) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		value := "(sensitive)"
		if !o.Sensitive {
			value = outputText(o.Value)
			l.Mask.Publish(value)
		}
		l.Report.Add(func(mask func(string) string) string {
			return fmt.Sprintf("%s: %s = %s\n", l.Name, printable.Terminal(name), mask(printable.Terminal(value)))
		})
	}
}

// outputText returns a string as it is, and anything else as JSON.
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

// Recorded returns the managed resources in the state, by address.
func (l *Layer) Recorded(ctx context.Context) (map[string]*tfjson.StateResource, error) {
	data, err := l.TofuOutput(ctx, "show", tofu.ShowStateArgs()...)
	if err != nil {
		return nil, err
	}
	found, err := readRecorded(data)
	if err != nil {
		return nil, fmt.Errorf("the state of %s is not JSON of a supported version", l.Name)
	}
	return found, nil
}

// readRecorded reads them from tofu's output for a state.
func readRecorded(data []byte) (map[string]*tfjson.StateResource, error) {
	var document struct {
		Values tfjson.StateValues `json:"values"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	found := map[string]*tfjson.StateResource{}
	var walk func(*tfjson.StateModule)
	walk = func(m *tfjson.StateModule) {
		if m == nil {
			return
		}
		for _, resource := range m.Resources {
			if resource.Mode == tfjson.ManagedResourceMode {
				found[resource.Address] = resource
			}
		}
		for _, child := range m.ChildModules {
			walk(child)
		}
	}
	walk(document.Values.RootModule)
	return found, nil
}

// Attribute returns a string attribute of a resource in a state, or "".
func Attribute(resource *tfjson.StateResource, name string) string {
	text, _ := resource.AttributeValues[name].(string)
	return text
}
