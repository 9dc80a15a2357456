package plan

import (
	"encoding/json"
	"errors"
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"
)

// values are those of a whole state, or a part of a plan that looks the same.
type values struct {
	Values *tfjson.StateValues `json:"values"`
}

// Sensitive returns the values that the output of `tofu show -json`, for a saved
// plan or for a state, marks as sensitive: what a redactor has to know before the
// error message of a provider may be shown.
func Sensitive(data []byte) ([]string, error) {
	var document struct {
		values
		Prior     values `json:"prior_state"`
		Variables map[string]struct {
			Value any `json:"value"`
		} `json:"variables"`
		Resources []struct {
			Change tfjson.Change `json:"change"`
		} `json:"resource_changes"`
		Outputs       map[string]tfjson.Change `json:"output_changes"`
		Configuration struct {
			Root struct {
				Variables map[string]struct {
					Sensitive bool `json:"sensitive"`
				} `json:"variables"`
			} `json:"root_module"`
		} `json:"configuration"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, errors.New("it is not JSON of a known version")
	}
	var found []string
	for _, tree := range []*tfjson.StateValues{document.Values, document.Prior.Values} {
		if tree == nil {
			continue
		}
		for _, output := range tree.Outputs {
			if output != nil && output.Sensitive {
				found = append(found, marked(output.Value, true)...)
			}
		}
		found = append(found, inModule(tree.RootModule)...)
	}
	for _, r := range document.Resources {
		found = append(found, marked(r.Change.Before, r.Change.BeforeSensitive)...)
		found = append(found, marked(r.Change.After, r.Change.AfterSensitive)...)
	}
	for _, c := range document.Outputs {
		found = append(found, marked(c.Before, c.BeforeSensitive)...)
		found = append(found, marked(c.After, c.AfterSensitive)...)
	}
	for name, variable := range document.Variables {
		found = append(found, marked(variable.Value, document.Configuration.Root.Variables[name].Sensitive)...)
	}
	return found, nil
}

func inModule(module *tfjson.StateModule) []string {
	if module == nil {
		return nil
	}
	var found []string
	for _, r := range module.Resources {
		var mark any
		// What cannot be read is taken to be sensitive.
		if len(r.SensitiveValues) > 0 && json.Unmarshal(r.SensitiveValues, &mark) != nil {
			mark = true
		}
		for name, value := range r.AttributeValues {
			found = append(found, marked(value, at(mark, name))...)
		}
	}
	for _, child := range module.ChildModules {
		found = append(found, inModule(child)...)
	}
	return found
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
