package plan

import (
	"os"
	"testing"
)

func TestConsole(t *testing.T) {
	for _, name := range []string{"changes", "none"} {
		want, err := os.ReadFile("testdata/" + name + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, name).Console(); got != string(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// A for_each key is chosen by whoever writes the code.
func TestPrintable(t *testing.T) {
	s := Summary{Changes: []Change{{Address: "a[\"\x1b[2J\nx\u009b\"]", Action: Create}}}
	if got, want := s.Console(), "Plan: 1 to create.\n  +   a[\"?[2J?x?\"]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
