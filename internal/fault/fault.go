// Package fault defines the errors that say how a command ended and what to do next.
package fault

import (
	"errors"
	"fmt"
	"slices"
)

// A Kind is how a command ended. It is the status in its result.
type Kind string

const (
	Refused     Kind = "refused"     // bad input, refused before anything changed
	Failed      Kind = "failed"      // anything else
	Unfinished  Kind = "unfinished"  // a part is done, and the rest was not begun
	Interrupted Kind = "interrupted" // stopped in the middle, because somebody asked for it
	Unreachable Kind = "unreachable" // hosts did not answer
)

// An Error says how a command ends.
type Error struct {
	Kind Kind
	Hint string // the exact next command or edit; empty: there is none
	Err  error  // one sentence, lower case, that names the value
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// New returns an Error with a message in fmt.Errorf's format.
func New(kind Kind, hint, format string, args ...any) error {
	return &Error{kind, hint, fmt.Errorf(format, args...)}
}

// Refuse returns a refusal.
func Refuse(hint, format string, args ...any) error { return New(Refused, hint, format, args...) }

// Fail returns a failure with a next step.
func Fail(hint, format string, args ...any) error { return New(Failed, hint, format, args...) }

// Of returns the first Error in err's tree.
func Of(err error) (e *Error, ok bool) { return errors.AsType[*Error](err) }

// Refusal returns the first Error in err's tree, if it is a refusal.
func Refusal(err error) (e *Error, ok bool) {
	e, ok = Of(err)
	return e, ok && e.Kind == Refused
}

// Is reports whether err's kind is one of these. An error without an Error is a failure.
func Is(err error, kinds ...Kind) bool {
	if err == nil {
		return false
	}
	kind := Failed
	if e, ok := Of(err); ok {
		kind = e.Kind
	}
	return slices.Contains(kinds, kind)
}
