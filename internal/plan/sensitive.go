package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/redact"
)

// Sensitive returns the values that the output of `tofu show -json` for a state marks as sensitive.
// For a plan, Read returns them with the summary.
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
				return r.module(r.stateResource)
			default:
				return r.skip()
			}
		})
	})
}

func (r *reading) stateOutput(name string) error {
	var output struct {
		Sensitive bool `json:"sensitive"`
		Value     any  `json:"value"`
	}
	err := r.Decode(&output)
	r.hide(name, output.Value, output.Sensitive)
	return err
}

// module reads a module of a state. Each call of resource must read one resource.
func (r *reading) module(resource func() error) error {
	if r.depth++; r.depth > deepest {
		return errShape
	}
	defer func() { r.depth-- }()
	return r.object(func(name string) error {
		switch name {
		case "resources":
			return r.array(resource)
		case "child_modules":
			return r.array(func() error { return r.module(resource) })
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
	// A mark that cannot be read counts as sensitive.
	if len(resource.SensitiveValues) > 0 && json.Unmarshal(resource.SensitiveValues, &mark) != nil {
		mark = true
	}
	r.hide("", resource.AttributeValues, mark)
	return nil
}

func (r *reading) variable(name string) error {
	var variable tfjson.PlanVariable
	err := r.Decode(&variable)
	r.variables[name] = variable.Value
	return err
}

// configuration reads which variables are sensitive: the plan lists their values without saying so.
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

func (r *reading) hideChange(name string, c *tfjson.Change) {
	r.hide(name, c.Before, c.BeforeSensitive)
	r.hide(name, c.After, c.AfterSensitive)
}

// hide records the secrets in a value with that mark. name is the name of a variable or an output.
// It is empty for a resource, whose attributes have names.
func (r *reading) hide(name string, value, mark any) {
	marked{name: name, found: &r.sensitive}.collect(value, mark)
}

// found returns the sensitive values, sorted and without duplicates.
func (r *reading) found() []string {
	slices.Sort(r.sensitive)
	return slices.Compact(r.sensitive)
}

// marked collects the strings and numbers of a value that are marked, or below a mark. What is
// marked itself is secret. What is only part of a marked value, such as the port of a connection,
// may not be: redact.Leaf decides.
type marked struct {
	name   string // name of the current position
	part   bool   // the mark is on an enclosing value
	within bool   // an enclosing name is used for secrets
	found  *[]string
}

func (m marked) collect(value, mark any) {
	if mark == nil || mark == false {
		return
	}
	switch value := value.(type) {
	case nil, bool: // too little to be a secret
	case map[string]any:
		below := marked{part: mark == true, within: m.within, found: m.found}
		named := false // the name of this map has been looked at: an expensive match, for marked children only
		for name, child := range value {
			markBelow := at(mark, name)
			if markBelow == nil || markBelow == false {
				continue
			}
			if !named {
				below.within = m.within || redact.SecretName(m.name)
				named = true
			}
			if below.part && redact.Key(name) {
				*m.found = append(*m.found, name)
			}
			below.name = name
			below.collect(child, markBelow)
		}
	case []any:
		below := m
		below.part = mark == true
		for i, child := range value {
			markBelow := mark
			if marks, ok := mark.([]any); ok {
				markBelow = nil
				if i < len(marks) {
					markBelow = marks[i]
				}
			}
			below.collect(child, markBelow)
		}
	default:
		// A tree of marks on a leaf marks nothing.
		if mark != true {
			return
		}
		text := fmt.Sprint(value)
		secret := redact.Whole(m.name, text)
		if m.part {
			secret = redact.Leaf(m.name, m.within, text)
		}
		if secret {
			*m.found = append(*m.found, text)
		} else if parts, structured := redact.Parts(text); structured {
			*m.found = append(*m.found, parts...)
		}
	}
}

// at returns the mark of an attribute of the marked value.
func at(mark any, name string) any {
	if marks, ok := mark.(map[string]any); ok {
		return marks[name]
	}
	return mark
}

// Output returns the secrets in the JSON of a sensitive output.
func Output(name string, value json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		return nil
	}
	var r reading
	r.hide(name, decoded, true)
	return r.found()
}
