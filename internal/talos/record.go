package talos

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A Kept setting is one in the form in which it may be stored beside the state: with its value if that cannot
// be secret, and with a keyed digest.
type Kept struct {
	Place
	Value  string `json:"value,omitempty"` // empty: hidden
	Digest string `json:"digest"`
}

// Keep returns the settings of a configuration in the form in which they may be stored. The key is for the
// digests; somebody who has it can try values. mask hides credentials: a value that it changes is not kept.
func Keep(settings []Setting, key string, mask func(string) string) []Kept {
	var kept []Kept
	for _, s := range settings {
		k := Kept{Place: s.Place, Value: s.Value, Digest: digest(key, s)}
		if mask(k.Value) != k.Value {
			k.Value = ""
		}
		kept = append(kept, k)
	}
	return kept
}

// digest is bound to the setting's place, so that nobody sees which settings have the same value.
func digest(key string, s Setting) string {
	h := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(h, "slipway setting %q %q %q\n", s.Document, s.Path, s.raw)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Compare is Diff with a configuration of which only a record is left. A setting that depends on secrets which
// were not there is taken for unchanged.
func Compare(before []Kept, after []Setting, key string) []Change {
	return differences(before, after, func(was *Kept, is *Setting) (Change, bool) {
		switch {
		case is == nil:
			return Change{Old: was.Value, Was: was.Digest}, true
		case is.derived:
			return Change{}, false
		case was == nil:
			return Change{New: is.Value}, true
		}
		c := Change{Was: was.Digest}
		if was.Value != "" && !is.Hidden {
			c.Old, c.New = was.Value, is.Value
		}
		return c, was.Digest != digest(key, *is)
	})
}
