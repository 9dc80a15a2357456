package console

import "fmt"

// A Refusal is an error that the user can fix: one lower-case sentence that names the value, and
// the exact next command.
type Refusal struct{ Message, Hint string }

func (r *Refusal) Error() string { return r.Message }

func Refuse(hint, format string, args ...any) error {
	return &Refusal{Message: fmt.Sprintf(format, args...), Hint: hint}
}
