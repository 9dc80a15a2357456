package plan

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const head = `{"format_version":"1.2",`

// document is a plan with these changes and this drift.
func document(changes, drift string) string {
	return head + `"resource_drift":[` + drift + `],"resource_changes":[` + changes + `],"errored":false}`
}

func TestChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   []Change
	}{
		"created":           {`"change":{"actions":["create"],"after":{"a":1},"after_unknown":{"id":true}}`, []Change{{Address: "x", Action: Create}}},
		"deleted":           {`"change":{"actions":["delete"],"before":{"a":1}},"action_reason":"delete_because_count_index"`, []Change{{Address: "x", Action: Delete, Reason: "delete_because_count_index"}}},
		"deposed":           {`"deposed":"0123abcd","change":{"actions":["delete"],"before":{"a":1}}`, []Change{{Address: "x", Action: Delete, Deposed: true}}},
		"updated":           {`"change":{"actions":["update"],"before":{"a":1,"b":2,"c":null},"after":{"a":1,"b":3},"after_unknown":{}}`, []Change{{Address: "x", Action: Update, Attributes: []string{"b"}}}},
		"a digit of many":   {`"change":{"actions":["update"],"before":{"a":10000000000000000001},"after":{"a":10000000000000000002}}`, []Change{{Address: "x", Action: Update, Attributes: []string{"a"}}}},
		"known later":       {`"change":{"actions":["update"],"before":{"a":1,"b":[1],"c":[1]},"after":{"b":[1],"c":[1]},"after_unknown":{"a":true,"b":[false],"c":[{"d":true}]}}`, []Change{{Address: "x", Action: Update, Attributes: []string{"a", "c"}, Later: []string{"a"}}}},
		"becomes sensitive": {`"change":{"actions":["update"],"before":{"a":[1],"b":[1]},"after":{"a":[1],"b":[1]},"after_unknown":{},"before_sensitive":{"a":[]},"after_sensitive":{"a":true,"b":[]}}`, []Change{{Address: "x", Action: Update, Attributes: []string{"a"}}}},
		"stays sensitive":   {`"change":{"actions":["update"],"before":{"a":1,"b":1},"after":{"a":1,"b":2},"before_sensitive":{"a":true},"after_sensitive":{"a":true}}`, []Change{{Address: "x", Action: Update, Attributes: []string{"b"}}}},
		"sensitive no more": {`"change":{"actions":["update"],"before":{"a":1,"b":1},"after":{"a":1,"b":2},"before_sensitive":{"a":true},"after_sensitive":{}}`, []Change{{Address: "x", Action: Update, Attributes: []string{"a", "b"}}}},
		"replaced": {`"change":{"actions":["delete","create"],"before":{"a":1,"b":1},"after":{"a":2,"b":2},"after_unknown":{"id":true},"replace_paths":[["b"],["a",0,"canary"],["a",1],["canary"],[0],"a",[]]},"action_reason":"replace_because_cannot_update"`,
			[]Change{{Address: "x", Action: Replace, Reason: "replace_because_cannot_update", Attributes: []string{"a", "b", "id"}, Later: []string{"id"}, Forces: []string{"a", "b"}}}},
		"replaced, first made": {`"change":{"actions":["create","delete"],"before":{"a":1},"after":{"a":1}}`, []Change{{Address: "x", Action: Replace}}},
		"forgotten":            {`"change":{"actions":["forget"],"before":{"a":1}},"action_reason":"forgot_because_lifecycle_destroy_in_state"`, []Change{{Address: "x", Action: Forget, Reason: "forgot_because_lifecycle_destroy_in_state"}}},
		"forgotten, another made": {`"change":{"actions":["forget","create"],"before":{"a":1},"after":{"a":2},"replace_paths":[["a"]]}`,
			[]Change{{Address: "x", Action: Forget, Recreated: true, Attributes: []string{"a"}, Forces: []string{"a"}}}},
		"imported":                {`"change":{"actions":["no-op"],"importing":{"id":"canary"}}`, []Change{{Address: "x", Action: Import, Imported: true}}},
		"imported and updated":    {`"change":{"actions":["update"],"before":{"a":1},"after":{"a":2},"importing":{"identity":{"a":"canary"}}}`, []Change{{Address: "x", Action: Update, Imported: true, Attributes: []string{"a"}}}},
		"moved":                   {`"previous_address":"y","change":{"actions":["no-op"]}`, []Change{{Address: "x", Action: Move, From: "y"}}},
		"moved and updated":       {`"previous_address":"y","change":{"actions":["update"],"before":{"a":1},"after":{"a":2}}`, []Change{{Address: "x", Action: Update, From: "y", Attributes: []string{"a"}}}},
		"left alone":              {`"previous_address":"x","change":{"actions":["no-op"],"before":{"a":1},"after":{"a":1}}`, nil},
		"read":                    {`"mode":"data","change":{"actions":["read"]},"action_reason":"read_because_config_unknown"`, nil},
		"opened":                  {`"mode":"ephemeral","change":{"actions":["create"]}`, nil},
		"of the future":           {`"change":{"actions":["archive"],"before":{"a":1},"after":{"a":2}}`, []Change{{Address: "x", Action: Unknown, Attributes: []string{"a"}}}},
		"of that, partly":         {`"change":{"actions":["delete","archive"]}`, []Change{{Address: "x", Action: Unknown}}},
		"of that, data":           {`"mode":"data","change":{"actions":["archive"]}`, []Change{{Address: "x", Action: Unknown}}},
		"nothing said":            {`"change":{"actions":[]}`, []Change{{Address: "x", Action: Unknown}}},
		"a reason of 100 letters": {`"change":{"actions":["create"]},"action_reason":"` + strings.Repeat("a", 100) + `"`, []Change{{Address: "x", Action: Create, Reason: strings.Repeat("a", 100)}}},
		"a reason that is longer": {`"change":{"actions":["create"]},"action_reason":"` + strings.Repeat("a", 101) + `"`, []Change{{Address: "x", Action: Create}}},
		"an invalid reason":       {`"change":{"actions":["create"]},"action_reason":"canary: 1"`, []Change{{Address: "x", Action: Create}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := Read(strings.NewReader(document(`{"address":"x",`+c.change+`}`, "")))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.Changes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	var changes []string
	for i, action := range []string{"create", "archive", "delete", "update", "forget", "create"} {
		changes = append(changes, fmt.Sprintf(`{"address":"x%d","change":{"actions":["%s"]}}`, 9-i, action))
	}
	s, _, err := Read(strings.NewReader(document(strings.Join(changes, ","), "")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Changes {
		got = append(got, string(c.Action)+" "+c.Address)
	}
	if diff := cmp.Diff([]string{"delete x7", "forget x5", "unknown x8", "create x4", "create x9", "update x6"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDrift(t *testing.T) {
	change := func(address, actions string) string {
		return `{"address":"` + address + `",` + `"change":{"actions":[` + actions + `],"before":{"a":1},"after":{"a":2}}}`
	}
	drift := strings.Join([]string{change("updated", `"update"`), change("left", `"update"`), change("gone", `"delete"`),
		change("moved", `"no-op"`), change("deposed", `"update"`), change("forgotten", `"update"`),
		change("renamed", `"update"`), change("imported", `"update"`)}, ",")
	changes := strings.Join([]string{change("updated", `"update"`), change("left", `"no-op"`), change("gone", `"create"`),
		`{"address":"deposed","deposed":"1","change":{"actions":["delete"]}}`, change("forgotten", `"forget"`),
		`{"address":"renamed","previous_address":"y","change":{"actions":["no-op"]}}`, `{"address":"imported","change":{"actions":["no-op"],"importing":{"id":"1"}}}`}, ",")
	s, _, err := Read(strings.NewReader(document(changes, drift)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Drift{
		{Address: "deposed", Attributes: []string{"a"}},
		{Address: "forgotten", Attributes: []string{"a"}},
		{Address: "gone", Deleted: true, Answered: true},
		{Address: "imported", Attributes: []string{"a"}},
		{Address: "left", Attributes: []string{"a"}},
		{Address: "renamed", Attributes: []string{"a"}},
		{Address: "updated", Attributes: []string{"a"}, Answered: true},
	}
	if diff := cmp.Diff(want, s.Drift); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Words beside the changes, in an order that is not OpenTofu's.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Summary
	}{
		"errored":       {`{"errored":true,"format_version":"1.2"}`, Summary{Errored: true}},
		"partial":       {head + `"complete":false}`, Summary{Partial: true}},
		"complete":      {head + `"complete":true}`, Summary{}},
		"outputs":       {head + `"output_changes":{"b":{"actions":["delete"]},"a":{"actions":["create"],"after":1},"c":{"actions":["no-op"]}}}`, Summary{Outputs: []string{"a", "b"}}},
		"nulls":         {head + `"resource_changes":null,"output_changes":null,"prior_state":null,"configuration":null,"variables":null}`, Summary{}},
		"what is new":   {head + `"more":[{"deep":[1,"a",null,{}]},[]],"even":"more"}`, Summary{}},
		"older version": {`{"format_version":"0.2"}`, Summary{}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := Read(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":          "",
		"no JSON":          "canary-secret",
		"no object":        `["canary"]`,
		"null":             `null`,
		"no version":       `{"variables":{"x":{"value":"canary"}}}`,
		"a strange one":    `{"format_version":"canary"}`,
		"no words at all":  `{"format_version":"99.0canary"}`,
		"a number":         `{"format_version":1.2}`,
		"cut off":          document(`{"address":"canary"`, ""),
		"cut off later":    strings.TrimSuffix(document("", ""), "}"),
		"something after":  document("", "") + `"canary"`,
		"another shape":    head + `"resource_changes":{"canary":1}}`,
		"another type":     document(`{"address":["canary"],"change":{}}`, ""),
		"no address":       document(`{"change":{"actions":["create"]}}`, ""),
		"no change":        document(`{"address":"canary"}`, ""),
		"no change at all": document(`null`, ""),
		"drift of nothing": document("", `{"address":"canary"}`),
		"too deep":         head + `"more":` + strings.Repeat("[", 20_000),
		"too deep a state": head + `"prior_state":{"values":{"root_module":` + strings.Repeat(`{"child_modules":[`, 20_000),
		"state":            head + `"prior_state":{"values":{"root_module":{"resources":"canary"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s, values, err := Read(strings.NewReader(text))
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v", err)
			}
			if !s.Empty() || values != nil {
				t.Error("there is a result beside the error")
			}
		})
	}
	_, _, err := Read(io.MultiReader(strings.NewReader(head), iotest.ErrReader(errors.New("canary"))))
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

// A version that is not known is named, wherever it stands.
func TestReadNamesTheVersion(t *testing.T) {
	for _, text := range []string{
		`{"format_version":"99.0","variables":{"x":{"value":"canary"}}}`,
		`{"resource_changes":[],"format_version":"99.0"}`,
		`{"format_version":"99.0","resource_changes":"canary"}`,
	} {
		_, _, err := Read(strings.NewReader(text))
		if want := "the plan has JSON format version 99.0, which is not supported"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
