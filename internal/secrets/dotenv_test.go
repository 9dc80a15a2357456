package secrets

import (
	"maps"
	"testing"

	"slipway/internal/must"
)

func TestReadDotenv(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                                {},
		"# a comment\nONE=1\n\nTWO=a=b\n": {"ONE": "1", "TWO": "a=b"},
		"EMPTY=\n":                        {"EMPTY": ""},
	} {
		got, err := ReadDotenv([]byte(text))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{"ONE=1\nTWO=2\nONE=1\n": "ONE is defined twice", "ONE\n": "invalid dotenv"} {
		_, err := ReadDotenv([]byte(text))
		must.Fail(t, err, says)
	}
}
