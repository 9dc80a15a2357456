package main

import "fmt"

// A refusal is an error that the user can fix: one lower-case sentence that names the value, and
// the exact next command.
type refusal struct{ message, hint string }

func (r *refusal) Error() string { return r.message }

func refuse(hint, format string, args ...any) error {
	return &refusal{message: fmt.Sprintf(format, args...), hint: hint}
}
