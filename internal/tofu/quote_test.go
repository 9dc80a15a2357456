package tofu

import "testing"

// An ID is written literally in an import block, whatever OpenTofu would otherwise read into it.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"plain":      `"plain"`,
		`a"b\c`:      `"a\"b\\c"`,
		"${x} %{y}":  `"$${x} %%{y}"`,
		"$x %y {z}":  `"$x %y {z}"`,
		"two\nlines": `"two\nlines"`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
