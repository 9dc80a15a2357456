package environment

import (
	"fmt"

	"slipway/internal/fault"
)

func refuse(hint, format string, args ...any) error { return fault.Refuse(hint, format, args...) }

// The commands that hints name. They are collected here because another part of the program defines
// them.
const (
	listCommand = "dagger call environments"
	editCommand = "dagger call secrets edit --file=" // followed by the file
)

// edit returns the hint for a fault in the file itself: what to write, and the command that checks
// every environment again.
func edit(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + "; then check it: " + listCommand
}
