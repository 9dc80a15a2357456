package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	tfjson "github.com/hashicorp/terraform-json"
)

// Sensitive returns the values that the output of `tofu show -json` for a state
// marks as sensitive. Those of a plan come with its summary.
func Sensitive(state []byte) ([]string, error) {
	r := reading{stream: newStream(bytes.NewReader(state))}
	if r.state() != nil || r.end() != nil {
		return nil, errors.New("it is not the JSON of a state")
	}
	return r.found(), nil
}

// state reads a state, or the part of a plan that is one.
func (r *reading) state() error {
	return r.object(func(name string) error {
		if name != "values" {
			return r.skip()
		}
		return r.object(func(name string) error {
			switch name {
			case "outputs":
				return r.object(r.stateOutput)
			case "root_module":
				return r.module()
			default:
				return r.skip()
			}
		})
	})
}

func (r *reading) stateOutput(string) error {
	var output struct {
		Sensitive bool `json:"sensitive"`
		Value     any  `json:"value"`
	}
	err := r.Decode(&output)
	r.hide(output.Value, output.Sensitive)
	return err
}

func (r *reading) module() error {
	if r.depth++; r.depth > deepest {
		return errShape
	}
	defer func() { r.depth-- }()
	return r.object(func(name string) error {
		switch name {
		case "resources":
			return r.array(r.stateResource)
		case "child_modules":
			return r.array(r.module)
		default:
			return r.skip()
		}
	})
}

func (r *reading) stateResource() error {
	var resource tfjson.StateResource
	if err := r.Decode(&resource); err != nil {
		return err
	}
	var mark any
	// What cannot be read is taken to be sensitive.
	if len(resource.SensitiveValues) > 0 && json.Unmarshal(resource.SensitiveValues, &mark) != nil {
		mark = true
	}
	r.hide(resource.AttributeValues, mark)
	return nil
}

func (r *reading) variable(name string) error {
	var variable tfjson.PlanVariable
	err := r.Decode(&variable)
	r.variables[name] = variable.Value
	return err
}

// configuration reads which variables are sensitive: the plan lists their values
// without a word on that.
func (r *reading) configuration() error {
	return r.object(func(name string) error {
		if name != "root_module" {
			return r.skip()
		}
		return r.object(func(name string) error {
			if name != "variables" {
				return r.skip()
			}
			return r.object(func(name string) error {
				var variable tfjson.ConfigVariable
				err := r.Decode(&variable)
				if variable.Sensitive {
					r.secret[name] = true
				}
				return err
			})
		})
	})
}

func (r *reading) hideChange(c *tfjson.Change) {
	r.hide(c.Before, c.BeforeSensitive)
	r.hide(c.After, c.AfterSensitive)
}

func (r *reading) hide(value, mark any) { r.sensitive = append(r.sensitive, marked(value, mark)...) }

// found are the sensitive values, sorted, each once.
func (r *reading) found() []string {
	slices.Sort(r.sensitive)
	return slices.Compact(r.sensitive)
}

// marked collects the leaves of value at whose place, or above, mark holds true.
func marked(value, mark any) []string {
	if mark == nil || mark == false {
		return nil
	}
	var found []string
	switch value := value.(type) {
	case nil, bool: // as good as no secret
	case map[string]any:
		for name, child := range value {
			found = append(found, marked(child, at(mark, name))...)
		}
	case []any:
		for i, child := range value {
			below := mark
			if marks, ok := mark.([]any); ok {
				below = nil
				if i < len(marks) {
					below = marks[i]
				}
			}
			found = append(found, marked(child, below)...)
		}
	default:
		// A tree of marks at a leaf marks nothing.
		if mark == true {
			found = append(found, fmt.Sprint(value))
		}
	}
	return found
}

// at is the mark of an attribute below one that mark belongs to.
func at(mark any, name string) any {
	if marks, ok := mark.(map[string]any); ok {
		return marks[name]
	}
	return mark
}
