package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"
)

// lines writes values as they are shown, one per line.
func lines(values []Value) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(v.Path)
		switch {
		case v.Old != "":
			b.WriteString(": " + v.Old + " → " + v.New)
		case v.New != "":
			b.WriteString(": " + v.New)
		}
		for _, a := range v.Added {
			b.WriteString(" +" + a)
		}
		for _, r := range v.Removed {
			b.WriteString(" -" + r)
		}
		if v.More > 0 {
			fmt.Fprintf(&b, " and %d", v.More)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Values of attributes on the list are shown; values of others are not.
func TestValues(t *testing.T) {
	long := strings.Repeat("a", longestValue)
	elements := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") }
	digits := strings.Repeat("1", longestValue)
	for name, c := range map[string]struct {
		change string // of a t, whose a, b.c and e.f.g are on the list
		want   string
		later  string
	}{
		"text":                      {`"before":{"a":"b3-8","z":"old"},"after":{"a":"b3-16","z":"new"}`, "a: b3-8 → b3-16\n", ""},
		"a number":                  {`"before":{"a":10000000000000000001},"after":{"a":1e400}`, "a: 10000000000000000001 → 1e400\n", ""},
		"a truth":                   {`"before":{"a":false},"after":{"a":true}`, "a: false → true\n", ""},
		"nothing before":            {`"before":{"a":null},"after":{"a":"x"}`, "a: null → x\n", ""},
		"nothing after":             {`"before":{"a":"null"},"after":{}`, "a: \"null\" → null\n", ""},
		"no text":                   {`"before":{"a":""},"after":{"a":" x"}`, "a: \"\" → \" x\"\n", ""},
		"text like a remark":        {`"before":{"a":"x → y"},"after":{"a":"x; forced by y"}`, "a: \"x → y\" → \"x; forced by y\"\n", ""},
		"text that cannot be seen":  {`"before":{"a":"\u001b[2J\u202e"},"after":{"a":"a\nb"}`, `a: "\x1b[2J\u202e" → "a\nb"` + "\n", ""},
		"as long as may be":         {`"before":{"a":"x"},"after":{"a":"` + long + `"}`, "a: x → " + long + "\n", ""},
		"too long":                  {`"before":{"a":"` + long + `a"},"after":{"a":"x"}`, "", ""},
		"a number that is too long": {`"before":{"a":1},"after":{"a":1` + strings.Repeat("0", longestValue) + `}`, "", ""},
		"a number as long as can":   {`"before":{"a":1},"after":{"a":` + digits + `}`, "a: 1 → " + digits + "\n", ""},
		"a tree of marks before":    {`"before":{"a":"x"},"after":{"a":"y"},"before_sensitive":{"a":{"b":true}}`, "", ""},
		"sensitive before":          {`"before":{"a":"x"},"after":{"a":"y"},"before_sensitive":{"a":true}`, "", ""},
		"sensitive after":           {`"before":{"a":"x"},"after":{"a":"y"},"after_sensitive":{"a":true}`, "", ""},
		"a tree of marks":           {`"before":{"a":"x"},"after":{"a":"y"},"after_sensitive":{"a":{"b":true}}`, "", ""},
		"all sensitive":             {`"before":{"a":"x"},"after":{"a":"y"},"after_sensitive":true`, "", ""},
		"a URL with a password":     {`"before":{"a":"x"},"after":{"a":"https://me:pw-9f3k2j4d@example.org"}`, "", ""},
		"known later":               {`"before":{"a":"x","z":"y"},"after":{},"after_unknown":{"a":true,"z":true}`, "", "a z"},

		"elements":                      {`"before":{"a":["x","y"]},"after":{"a":["y","z","w"]}`, "a +z +w -x\n", ""},
		"elements, none before":         {`"before":{"a":null},"after":{"a":["x"]}`, "a +x\n", ""},
		"the same twice":                {`"before":{"a":["x","x"]},"after":{"a":["x"]}`, "a -x\n", ""},
		"another order":                 {`"before":{"a":["x","y"]},"after":{"a":["y","x"]}`, "", ""},
		"an element that is sensitive":  {`"before":{"a":["x"]},"after":{"a":["x","y"]},"after_sensitive":{"a":[false,true]}`, "", ""},
		"an element that is too long":   {`"before":{"a":["x"]},"after":{"a":["` + long + `a"]}`, "", ""},
		"an element that comes later":   {`"before":{"a":["x"]},"after":{"a":["x",null]},"after_unknown":{"a":[false,true]}`, "", ""},
		"an element that changes later": {`"before":{"z":["x","y"]},"after":{"z":["x",null]},"after_unknown":{"z":[false,true]}`, "", "z"},
		"many elements":                 {`"before":{"a":[]},"after":{"a":[` + elements(25) + `]}`, "a" + strings.Repeat(" +x", 20) + " and 5\n", ""},

		"in place":                  {`"before":{"a":["x"]},"after":{"a":["y"]}`, "a +y -x\n", ""},
		"elements, none after":      {`"before":{"a":["x"]},"after":{"a":null}`, "a -x\n", ""},
		"fewer marks than elements": {`"before":{"a":["x"]},"after":{"a":["x","y"]},"after_sensitive":{"a":[false]}`, "a +y\n", ""},
		"one of two is too long":    {`"before":{"a":["` + long + `a"]},"after":{"a":["x","y"]}`, "", ""},
		"as many as are compared":   {`"before":{"a":[` + elements(mostCompared) + `]},"after":{"a":["y"]}`, "a +y" + strings.Repeat(" -x", 20) + " and 180\n", ""},
		"more than are compared":    {`"before":{"a":[` + elements(mostCompared+1) + `]},"after":{"a":["y"]}`, "", ""},
		"as many, after":            {`"before":{"a":["y"]},"after":{"a":[` + elements(mostCompared) + `]}`, "a" + strings.Repeat(" +x", 20) + " -y and 180\n", ""},
		"more, after":               {`"before":{"a":["y"]},"after":{"a":[` + elements(mostCompared+1) + `]}`, "", ""},

		"a map":                   {`"before":{"a":{"x":"1","y":"2","s p":"1"}},"after":{"a":{"x":"1","y":"3","s p":"2"}}`, "a[\"s p\"]: 1 → 2\na.y: 2 → 3\n", ""},
		"a key that comes":        {`"before":{"a":{}},"after":{"a":{"x":"1"}}`, "a.x: null → 1\n", ""},
		"a key for secrets":       {`"before":{"a":{"password":"1","x":"1"}},"after":{"a":{"password":"2","x":"2"}}`, "a.x: 1 → 2\na\n", ""},
		"a key that is sensitive": {`"before":{"a":{"s":"8","x":"1"}},"after":{"a":{"s":"9","x":"2"}},"before_sensitive":{"a":{"s":true}},"after_sensitive":{"a":{"s":true}}`, "a.x: 1 → 2\na\n", ""},
		"a map, none before":      {`"before":{"a":null},"after":{"a":{"x":"1"}}`, "a.x: null → 1\n", ""},
		"a map, none after":       {`"before":{"a":{"x":"1"}},"after":{"a":null}`, "a.x: 1 → null\n", ""},
		"a key known later":       {`"before":{"a":{"x":{"k":"1"}}},"after":{"a":{"x":{"k":"1"}}},"after_unknown":{"a":{"x":{"id":true}}}`, "", "a"},
		"a list in a map":         {`"before":{"a":{}},"after":{"a":{"x":["1"]}}`, "", ""},
		"no list in a map":        {`"before":{"a":{"x":["1"]}},"after":{"a":{}}`, "", ""},
		"the same, less secret":   {`"before":{"a":{"x":"1","y":{"k":"v"}}},"after":{"a":{"x":"2","y":{"k":"v"}}},"before_sensitive":{"a":{"y":{"k":true}}}`, "a.x: 1 → 2\na\n", ""},
		"the same, more secret":   {`"before":{"a":{"x":"1","y":{"k":"v"}}},"after":{"a":{"x":"2","y":{"k":"v"}}},"after_sensitive":{"a":{"y":{"k":true}}}`, "a.x: 1 → 2\na\n", ""},
		"the same after a secret": {`"before":{"a":{"h":"8","x":"1","y":"v"}},"after":{"a":{"h":"9","x":"2","y":"v"}},"before_sensitive":{"a":{"h":true,"y":false}}`, "a.x: 1 → 2\na\n", ""},
		"deeper than a map":       {`"before":{"a":{"x":{"y":"1"}}},"after":{"a":{"x":{"y":"2"}}}`, "", ""},

		"nested":                     {`"before":{"b":[{"c":1,"d":1},{"c":2,"d":1}]},"after":{"b":[{"c":1,"d":1},{"c":3,"d":1}]}`, "b[1].c: 2 → 3\n", ""},
		"nested, and more":           {`"before":{"b":[{"c":1,"d":"1"}]},"after":{"b":[{"c":3,"d":"2"}]}`, "b[0].c: 1 → 3\nb\n", ""},
		"nested, not on the list":    {`"before":{"b":[{"c":1,"d":"1"}]},"after":{"b":[{"c":1,"d":"2"}]}`, "", ""},
		"nested, a part later":       {`"before":{"b":[{"c":1,"id":"x"}]},"after":{"b":[{"c":2}]},"after_unknown":{"b":[{"id":true}]}`, "b[0].c: 1 → 2\n", "b"},
		"nested, only later":         {`"before":{"b":[{"c":1,"id":"x"}]},"after":{"b":[{"c":1}]},"after_unknown":{"b":[{"id":true}]}`, "", "b"},
		"blocks come and go":         {`"before":{"b":[{"c":1,"d":"1"},{"c":2,"d":"1"}]},"after":{"b":[{"c":3,"d":"1"}]}`, "b +{c: 3} -{c: 1} -{c: 2}\n", ""},
		"blocks that look alike":     {`"before":{"b":[{"c":1,"d":"1"}]},"after":{"b":[{"c":9,"d":"9"},{"c":1,"d":"2"}]}`, "b +{c: 9}\nb\n", ""},
		"a block that is sensitive":  {`"before":{"b":[]},"after":{"b":[{"c":1}]},"after_sensitive":{"b":[{"c":true}]}`, "", ""},
		"blocks with a part later":   {`"before":{"b":[]},"after":{"b":[{"c":1},{"c":2}]},"after_unknown":{"b":[{"id":true},{"id":true}]}`, "b +{c: 1} +{c: 2}\n", "b"},
		"a block that comes later":   {`"before":{"b":[]},"after":{"b":[null]},"after_unknown":{"b":[true]}`, "", ""},
		"a block of unknown parts":   {`"before":{"b":[]},"after":{"b":[{}]},"after_unknown":{"b":[{"c":true}]}`, "", ""},
		"a block with a list":        {`"before":{"b":[]},"after":{"b":[{"c":["x","y"]}]}`, "b +{c: [x, y]}\n", ""},
		"the same, and a part later": {`"before":{"b":[{"c":1}]},"after":{"b":[{"c":1}]},"after_unknown":{"b":[{"id":true}]}`, "", "b"},
		"an earlier part later": {`"before":{"e":[{"id":"x"},{"f":[{"g":1}]}]},"after":{"e":[{},{"f":[{"g":1},{"g":2}]}]},"after_unknown":{"e":[{"id":true},{}]}`,
			"e[1].f +{g: 2}\n", "e"},
		"a block in another order": {`"before":{"e":[{"f":[{"g":1},{"g":2}]},{"f":[{"g":3}]}]},"after":{"e":[{"f":[{"g":2},{"g":1}]},{"f":[{"g":4}]}]}`,
			"e[1].f[0].g: 3 → 4\ne\n", ""},
		"a block with one to come": {`"before":{"e":[{"f":[]},{"f":[{"g":3}]}]},"after":{"e":[{"f":[null]},{"f":[{"g":4}]}]},"after_unknown":{"e":[{"f":[true]},{}]}`,
			"e[1].f[0].g: 3 → 4\ne\n", ""},
		"a block with too many": {`"before":{"e":[{"f":[` + elements(mostCompared+1) + `]},{"f":[{"g":3}]}]},"after":{"e":[{"f":[]},{"f":[{"g":4}]}]}`,
			"e[1].f[0].g: 3 → 4\ne\n", ""},
		"the first looks alike":     {`"before":{"b":[{"c":1,"d":"1"},{"c":5,"d":"1"}]},"after":{"b":[{"c":1,"d":"2"}]}`, "b -{c: 5}\nb\n", ""},
		"a block that is secret":    {`"before":{"b":[]},"after":{"b":[{"c":1}]},"after_sensitive":{"b":[true]}`, "", ""},
		"a block with a secret":     {`"before":{"b":[]},"after":{"b":[{"c":1,"d":"x"}]},"after_sensitive":{"b":[{"d":true}]}`, "b +{c: 1}\n", ""},
		"a block as long as may be": {`"before":{"b":[]},"after":{"b":[{"c":"` + long[5:] + `"}]}`, "b +{c: " + long[5:] + "}\n", ""},
		"a block that is too long":  {`"before":{"b":[]},"after":{"b":[{"c":"` + long[4:] + `"}]}`, "", ""},
		"an element in it, too":     {`"before":{"b":[]},"after":{"b":[{"c":["` + long + `a"]}]}`, "", ""},
		"a block with no list":      {`"before":{"b":[]},"after":{"b":[{"c":[]}]}`, "", ""},
		"a block of many parts":     {`"before":{"m":[]},"after":{"m":[{"f":6,"e":5,"d":4,"c":3,"b":2,"a":1}]}`, "m +{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}\n", ""},
		"a single block":            {`"before":{"b":{"c":1}},"after":{"b":{"c":2}}`, "b.c: 1 → 2\n", ""},
		"deeper":                    {`"before":{"e":[{"f":[{"g":1}]}]},"after":{"e":[{"f":[{"g":2}]}]}`, "e[0].f[0].g: 1 → 2\n", ""},
		"another shape":             {`"before":{"a":"x"},"after":{"a":["x"]}`, "", ""},
		"a list becomes text":       {`"before":{"a":["x"]},"after":{"a":"x"}`, "", ""},
		"text becomes a map":        {`"before":{"a":"x"},"after":{"a":{"x":"1"}}`, "", ""},
		"a map becomes text":        {`"before":{"a":{"x":"1"}},"after":{"a":"x"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := Read(strings.NewReader(document(`{"address":"x","type":"t","change":{"actions":["update"],`+c.change+`}}`, "")), "t.a", "t.b.c", "t.e.f.g", "t.m.a", "t.m.b", "t.m.c", "t.m.d", "t.m.e", "t.m.f")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, lines(s.Changes[0].Values)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := strings.Join(s.Changes[0].Later, " "); got != c.later {
				t.Errorf("known later: %q, want %q", got, c.later)
			}
		})
	}
}

// A value is looked for as deep as the bound says.
func TestDeepValues(t *testing.T) {
	for depth, want := range map[int]string{deepestValues: "a" + strings.Repeat(".k", deepestValues) + ": 1 → 2\n", deepestValues + 1: ""} {
		nested := func(value string) string {
			return `{"a":` + strings.Repeat(`{"k":`, depth) + value + strings.Repeat("}", depth) + "}"
		}
		change := `{"address":"x","type":"t","change":{"actions":["update"],"before":` + nested("1") + `,"after":` + nested("2") + `}}`
		s, _, err := Read(strings.NewReader(document(change, "")), "t.a"+strings.Repeat(".k", depth))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(s.Changes[0].Values)); diff != "" {
			t.Errorf("%d levels (-want +got):\n%s", depth, diff)
		}
	}
}

// Of values that the mask would change, the names of the attributes are left, each once.
func TestConcealed(t *testing.T) {
	mask := func(text string) string { return strings.ReplaceAll(text, "canary", "***") }
	values := []Value{
		{Path: "a.x", New: "canary"}, {Path: "a.y", Added: []string{"canary"}}, {Path: "b", Removed: []string{"canary"}}, {Path: "b", New: "1"},
		{Path: "c", Old: "canary", New: "1"}, {Path: "d", Added: []string{"1"}},
	}
	want := []Value{{Path: "a"}, {Path: "b"}, {Path: "b", New: "1"}, {Path: "c"}, {Path: "d", Added: []string{"1"}}}
	if diff := cmp.Diff(want, Concealed(values, mask)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, v := range []Value{{Old: "1"}, {New: "1"}, {Added: []string{"1"}}, {Removed: []string{"1"}}} {
		if !v.HasValue() {
			t.Errorf("%+v has no value", v)
		}
	}
}

// A created resource is shown without old values, and so is drift together with it.
func TestValuesOfOthers(t *testing.T) {
	change := func(action string) string {
		return `{"address":"x","type":"t","change":{"actions":[` + action + `],"before":{"a":"x","b":["x"]},"after":{"a":"y","b":["x","z"],"c":"","n":null},"after_unknown":{"d":true}}}`
	}
	for action, want := range map[string]string{
		`"create"`:          "a: y\nb: [x, z]\n",
		`"update"`:          "a: x → y\nb +z\nc: null → \"\"\n",
		`"delete","create"`: "a: x → y\nb +z\nc: null → \"\"\n",
		`"forget","create"`: "a: x → y\nb +z\nc: null → \"\"\n",
		`"archive"`:         "a: x → y\nb +z\nc: null → \"\"\n",
		`"delete"`:          "",
		`"forget"`:          "",
	} {
		s, _, err := Read(strings.NewReader(document(change(action), "")), "t.a", "t.b", "t.c", "t.d", "t.n")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(s.Changes[0].Values)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", action, diff)
		}
	}
	s, _, err := Read(strings.NewReader(document("", change(`"update"`))), "t.a")
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(s.Drift[0].Values); got != "a: x → y\n" {
		t.Errorf("of drift: %q", got)
	}
	s, _, err = Read(strings.NewReader(document(strings.ReplaceAll(change(`"update"`), `"type":"t"`, `"type":"other"`), "")), "t.a")
	if err != nil || s.Changes[0].Values != nil {
		t.Errorf("of another type: %v, %v", s.Changes[0].Values, err)
	}
}

// A change tells a bounded number of values, and that there is more.
func TestManyValues(t *testing.T) {
	var before, after []string
	for i := range 30 {
		before, after = append(before, fmt.Sprintf(`"k%02d":"x"`, i)), append(after, fmt.Sprintf(`"k%02d":"y"`, i))
	}
	text := func(attributes string) string { return "{" + attributes + "}" }
	old, now := text(`"a":`+text(strings.Join(before, ","))+`,"b":1`), text(`"a":`+text(strings.Join(after, ","))+`,"b":2`)
	s, _, err := Read(strings.NewReader(document(`{"address":"x","type":"t","change":{"actions":["update"],"before":`+old+`,"after":`+now+`}}`, "")), "t.a", "t.b")
	if err != nil {
		t.Fatal(err)
	}
	values := s.Changes[0].Values
	if len(values) != mostValues+1 || values[mostValues].HasValue() || values[mostValues].Path != "a" {
		t.Errorf("got %d values:\n%s", len(values), lines(values))
	}
}

// A value that the plan marks as sensitive in one place is shown nowhere, whatever is around it,
// even if it is too short for the mask.
func TestValuesThatAreSecretElsewhere(t *testing.T) {
	const marked = `{"address":"y","type":"u","change":{"actions":["update"],"before":{"password":"canary-of-another-7","token":""},"after":{"password":"q7!"},"before_sensitive":{"password":true,"token":true},"after_sensitive":{"password":true}}}`
	for name, c := range map[string]struct{ after, want string }{
		"as it is":        {`"a":"canary-of-another-7"`, ""},
		"within":          {`"a":"x canary-of-another-7 y"`, ""},
		"in an element":   {`"a":["y","canary-of-another-7"]`, ""},
		"in a key":        {`"a":{"canary-of-another-7":"y"}`, ""},
		"in base64":       {`"a":"Y2FuYXJ5LW9mLWFub3RoZXItNw=="`, ""},
		"a short one":     {`"a":"q7!"`, ""},
		"something else":  {`"a":"y"`, "a: x → y\n"},
		"another element": {`"a":["y"]`, "a +y\n"},
	} {
		text := `{"address":"x","type":"t","change":{"actions":["update"],"before":{"a":"x"},"after":{` + c.after + `}}}`
		if strings.Contains(c.after, "[") || strings.Contains(c.after, "{") {
			text = strings.Replace(text, `"before":{"a":"x"}`, `"before":{}`, 1)
		}
		for _, other := range []string{marked + "," + text, text + "," + marked} {
			s, _, err := Read(strings.NewReader(document(other, text)), "t.a")
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			if s.Changes[0].Address == "y" {
				i = 1
			}
			for where, values := range map[string][]Value{"a change": s.Changes[i].Values, "drift": s.Drift[0].Values} {
				got := lines(values)
				if got == "a\n" {
					got = "" // the name alone
				}
				if got != c.want {
					t.Errorf("%s, %s: got %q", name, where, got)
				}
			}
		}
	}
}

func TestAttribute(t *testing.T) {
	for path, want := range map[string]string{"size": "size", "disk[0].size": "disk", `labels["a.b"]`: "labels", "cpu.cores": "cpu", "": "", ".": "."} {
		if got := (Value{Path: path}).Attribute(); got != want {
			t.Errorf("%q is of %q, want %q", path, got, want)
		}
	}
}

// What is created shows its values in the order of their names.
func TestMade(t *testing.T) {
	after := map[string]any{"id": "secret"}
	var want strings.Builder
	allowed := rules{}
	for _, name := range strings.Split("abcdefghij", "") {
		after[name], allowed[name] = "x", everything
		want.WriteString(name + ": x\n")
	}
	if diff := cmp.Diff(want.String(), lines(made(&tfjson.Change{After: after}, allowed))); diff != "" {
		t.Error(diff)
	}
	if values := made(&tfjson.Change{After: after}, nil); values != nil {
		t.Errorf("without a rule it shows %+v", values)
	}
}
