// Package refusal holds the error that its reader can mend.
package refusal

import "fmt"

// An Error is bad input, refused before anything changed. A stage that ends with
// one exits with code 3.
type Error struct {
	Message string // one sentence, lower case, that names the value
	Hint    string // the exact next command or edit
}

func (e *Error) Error() string { return e.Message }

// New makes an Error whose message is formatted.
func New(hint, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Hint: hint}
}
