package fault

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// The first error of ours in a tree says how a command ended; without one, it failed.
func TestIs(t *testing.T) {
	refused, unfinished := Refuse("chop some", "no wood"), New(Unfinished, "", "half")
	for name, c := range map[string]struct {
		err  error
		kind Kind // empty: there is no error
	}{
		"none":                  {nil, ""},
		"another's":             {io.EOF, Failed},
		"a refusal":             {refused, Refused},
		"a failure":             {Fail("", "x"), Failed},
		"wrapped":               {fmt.Errorf("outside: %w", refused), Refused},
		"beside another's":      {errors.Join(io.EOF, refused), Refused},
		"the first of two":      {errors.Join(unfinished, refused), Unfinished},
		"a failure of a failed": {Fail("", "outside: %w", refused), Failed},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []Kind{Refused, Failed, Unfinished, Interrupted, Unreachable} {
				if got := Is(c.err, kind); got != (kind == c.kind) {
					t.Errorf("%s: %v", kind, got)
				}
			}
			if got := Is(c.err, Interrupted, c.kind); got != (c.err != nil) {
				t.Errorf("one of two: %v", got)
			}
			if _, got := Refusal(c.err); got != (c.kind == Refused) {
				t.Errorf("a refusal: %v", got)
			}
		})
	}
	if e, ok := Of(fmt.Errorf("outside: %w", refused)); !ok || e.Hint != "chop some" || e.Error() != "no wood" {
		t.Errorf("got %+v", e)
	}
	if err := Fail("", "read: %w", io.EOF); !errors.Is(err, io.EOF) || err.Error() != "read: EOF" {
		t.Errorf("the cause is lost: %v", err)
	}
}
