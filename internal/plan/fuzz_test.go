package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Placeholders for the values of a plan.
const (
	canary       = "CANARY-7f3a"
	canaryNumber = json.Number("73190842655")
)

var refusals = regexp.MustCompile(`^the plan is not JSON of a known version$|^the plan has JSON format version [0-9.]+, which is not supported$`)

// FuzzRead: whatever is read, nothing panics, no error quotes it, and if no type is on the list,
// none of its values are in the summary.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"changes", "none"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(document(`{"address":"x","previous_address":"y","change":{"actions":["delete","create"],"before":{"a":{"b":[1,"v"]}},"after":{"a":"w"},"after_unknown":{"id":true},"replace_paths":[["a","v",0]],"importing":{"id":"v"}},"action_reason":"replace_by_request"}`,
		`{"address":"x","change":{"actions":["update"],"before":{"a":"v"},"after":{"a":"w"}}}`)))
	f.Add([]byte(document(`{"address":"x","deposed":"1","change":{"actions":["archive"],"before":"v","after":["v"],"after_sensitive":true}}`, `null`)))
	f.Add([]byte(head + `"complete":false,"variables":{"v":{"value":{"a":["v"]}}},"configuration":{"root_module":{"variables":{"v":{"default":"v","sensitive":true}}}},"output_changes":{"o":{"actions":["update"],"before":"v","after_sensitive":[true],"after":["v"]}},"prior_state":{"values":{"outputs":{"o":{"sensitive":true,"value":"v"}},"root_module":{"child_modules":[{"resources":[{"values":{"a":"v"},"sensitive_values":{"a":true}}]}]}}}}`))
	f.Add([]byte(`{"format_version":"2.0"}`))
	f.Add([]byte(`{"format_version":"1.2","resource_changes":[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, err := Read(bytes.NewReader(data))
		if err != nil && !refusals.MatchString(err.Error()) {
			t.Fatalf("the error may tell too much: %v", err)
		}
		if bytes.Contains(data, []byte(canary)) || bytes.Contains(data, []byte(canaryNumber)) {
			t.Skip("its own values look like those that are put in")
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var document map[string]any
		if err != nil || decoder.Decode(&document) != nil {
			return
		}
		planted, err := json.Marshal(plant(document))
		if err != nil {
			t.Fatal(err)
		}
		other, _, err := Read(bytes.NewReader(planted))
		if err != nil {
			return // a duplicate name or similar
		}
		shown, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(shown); strings.Contains(text, canary) || strings.Contains(text, string(canaryNumber)) {
			t.Fatalf("a value is shown: %s", text)
		}
		// The values show what drifted; the actions show what changes.
		if len(other.Changes) != len(s.Changes) {
			t.Fatalf("other values make other changes: %+v became %+v", s, other)
		}
	})
}

// plant replaces all values with canaries.
func plant(document map[string]any) map[string]any {
	for part, content := range document {
		switch part {
		case "format_version", "errored", "complete":
		case "resource_changes", "resource_drift":
			list, _ := content.([]any)
			for _, element := range list {
				if resource, ok := element.(map[string]any); ok {
					resource["type"] = "x"
					plantChange(resource["change"])
				}
			}
		case "output_changes":
			outputs, _ := content.(map[string]any)
			for _, output := range outputs {
				plantChange(output)
			}
		default:
			document[part] = canaries(content, 2) // the names that Read looks for
		}
	}
	return document
}

func plantChange(change any) {
	c, _ := change.(map[string]any)
	for name, content := range c {
		switch name {
		case "before", "after":
			c[name] = canaries(content, 1) // the names of the attributes
		case "importing", "before_identity", "after_identity", "generated_config":
			c[name] = canaries(content, 0)
		case "replace_paths":
			paths, _ := content.([]any)
			for _, path := range paths {
				if steps, ok := path.([]any); ok {
					for i := 1; i < len(steps); i++ {
						steps[i] = canaries(steps[i], 0)
					}
				}
			}
		}
	}
}

// canaries replaces all strings and numbers, and the keys below some levels.
func canaries(value any, levels int) any {
	switch value := value.(type) {
	case string:
		return canary
	case json.Number:
		return canaryNumber
	case []any:
		for i := range value {
			value[i] = canaries(value[i], levels)
		}
	case map[string]any:
		other := map[string]any{}
		for name, child := range value {
			if levels <= 0 {
				name = canary + name
			}
			other[name] = canaries(child, levels-1)
		}
		return other
	}
	return value
}

// FuzzValues: of what is on the list, no more is shown than may be; and nothing of what is
// beside it, is marked, or is marked in another place.
func FuzzValues(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":"x"}`, `{"a":"y"}`}, {`{"a":[1,2]}`, `{"a":[2,{"b":3}]}`}, {`{"b":[{"c":1,"d":"x"},{"c":2}]}`, `{"b":[{"c":3,"d":["x"]}]}`},
		{`{"a":{"x":"y","z":"w"}}`, `{"a":{"x":"\u001b","q":null}}`}, {`null`, `{"a":true,"b":{"c":["x"]}}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	read := func(before, after any, marks string) (Summary, bool) {
		old, _ := json.Marshal(before)
		now, _ := json.Marshal(after)
		change := `"change":{"actions":["update"],"before":` + string(old) + `,"after":` + string(now) + `,"after_unknown":{"z":true}` + marks + `}}`
		marked := `{"address":"y","type":"u","change":{"actions":["update"],"after":{"p":"` + canary + `","q":"` + string(canaryNumber) + `"},"after_sensitive":{"p":true,"q":true}}}`
		s, _, err := Read(strings.NewReader(document(marked+`,{"address":"x","type":"t",`+change, `{"address":"x","type":"t",`+change)), "t.a", "t.b.c")
		return s, err == nil
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		decode := func(data []byte) (value any, ok bool) {
			decoder := json.NewDecoder(bytes.NewReader(data))
			decoder.UseNumber()
			return value, decoder.Decode(&value) == nil
		}
		before, ok := decode(one)
		after, also := decode(two)
		if !ok || !also {
			return
		}
		s, ok := read(before, after, "")
		if !ok {
			return
		}
		for _, values := range [][]Value{s.Changes[0].Values, s.Changes[1].Values} {
			if len(values) > 2*mostValues {
				t.Fatalf("%d values", len(values))
			}
			for _, v := range values {
				if a := v.Attribute(); a != "a" && a != "b" {
					t.Fatalf("a value of %s is shown: %+v", a, v)
				}
				if len(v.Old) > 5*longestValue || len(v.New) > 5*longestValue || len(v.Added) > mostElements || len(v.Removed) > mostElements {
					t.Fatalf("it is too long: %+v", v)
				}
			}
		}
		if bytes.Contains(one, []byte(canary)) || bytes.Contains(two, []byte(canary)) || bytes.Contains(one, []byte(canaryNumber)) || bytes.Contains(two, []byte(canaryNumber)) {
			t.Skip("its own values look like those that are put in")
		}
		// Each value is a canary now, which is sensitive in another place.
		for _, marks := range []string{"", `,"before_sensitive":true,"after_sensitive":true`} {
			if s, ok = read(canaries(before, 1), canaries(after, 1), marks); !ok {
				continue
			}
			shown, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(shown); strings.Contains(text, canary) || strings.Contains(text, string(canaryNumber)) {
				t.Fatalf("a value is shown: %s", text)
			}
		}
	})
}
