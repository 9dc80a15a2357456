package plan

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// read reduces a plan that testdata/generate made with the real OpenTofu.
func read(t *testing.T, name string) Summary {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if name == "changes" && strings.Count(string(data), "canary") < 10 {
		t.Fatal("the plan holds no values whose absence would prove anything")
	}
	s, _, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConsole(t *testing.T) {
	for _, name := range []string{"changes", "none"} {
		t.Run(name, func(t *testing.T) {
			got := read(t, name).Console()
			golden := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if strings.Contains(got, "canary") {
				t.Error("the summary holds a value")
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	if !read(t, "none").Empty() || read(t, "changes").Empty() {
		t.Error("a plan without changes must be empty, and one with changes not")
	}
}

// A plan that ended with an error looks like a good one but for one word.
func TestErrored(t *testing.T) {
	data, err := os.ReadFile("testdata/none.json")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`"errored":\s*false`).ReplaceAllString(string(data), `"errored":true`)
	s, _, err := Read(strings.NewReader(text))
	if err != nil || !s.Errored || !strings.HasPrefix(s.Console(), "The plan is not whole") {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":         "",
		"no JSON":         "canary-secret",
		"another version": `{"format_version":"99.0","variables":{"x":{"value":"canary"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Read(strings.NewReader(text))
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A for_each key is chosen by whoever writes the code.
func TestPrintable(t *testing.T) {
	s := Summary{Changes: []Change{{Address: "a[\"\x1b[2J\nx\u009b\"]", Action: Create}}}
	if got, want := s.Console(), "Plan: 1 to create.\n  +   a[\"?[2J?x?\"]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
