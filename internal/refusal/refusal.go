// Package refusal defines the error that the user can fix.
package refusal

import "fmt"

// An Error is bad input that was refused before anything changed. A stage that ends with one exits
// with code 3.
type Error struct {
	Message string // one sentence, lower case, that names the value
	Hint    string // the exact next command or edit
}

func (e *Error) Error() string { return e.Message }

// New returns an Error with a formatted message.
func New(hint, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Hint: hint}
}
