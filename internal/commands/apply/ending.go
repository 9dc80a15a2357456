package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"slipway/internal/tofu"
)

// An ending is how an apply ended.
type ending struct {
	code        int
	err         error // from running tofu
	diagnostics []tofu.Diagnostic
	lost        string // file with the state that could not be written; empty: none
}

func (e ending) succeeded() bool { return e.err == nil && e.code == tofu.ExitOK }

// doubt returns an error that says why the state may not record everything that the apply did. It
// is nil if tofu ended by itself and its last write of the state succeeded.
func (e ending) doubt() error {
	switch {
	case errors.Is(e.err, tofu.ErrNotStarted):
		return nil
	case e.err != nil:
		return errors.New("the state may not record everything that the apply did")
	case e.code != tofu.ExitOK && e.code != tofu.ExitError:
		return fmt.Errorf("tofu ended with exit code %d, and the state may not record everything that the apply did", e.code)
	case e.lost != "":
		return fmt.Errorf("the state could not be written: an encrypted copy is in recovery/%s", e.lost)
	case e.stateNotSaved():
		return errors.New("the state could not be written, and no copy of it is left")
	}
	return nil
}

// errStale says that the state has changed since the plan was made, so that nothing was applied.
var errStale = errors.New("the state has changed since its plan was made, and nothing was applied")

// stale reports whether tofu refused the plan for that reason.
func (e ending) stale() bool {
	return slices.ContainsFunc(e.diagnostics, func(d tofu.Diagnostic) bool { return d.Severity == "error" && d.Summary == "Saved plan is stale" })
}

// stateNotSaved reports whether tofu failed to write the state. See
// https://github.com/opentofu/opentofu/blob/v1.12.6/internal/backend/local/backend_apply.go
func (e ending) stateNotSaved() bool {
	return slices.ContainsFunc(e.diagnostics, func(d tofu.Diagnostic) bool {
		return d.Severity == "error" && (strings.HasPrefix(d.Summary, "Failed to save state") || strings.HasPrefix(d.Summary, "Failed to persist state"))
	})
}
