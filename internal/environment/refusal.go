package environment

import (
	"fmt"

	"slipway/internal/refusal"
)

func refuse(hint, format string, args ...any) error { return refusal.New(hint, format, args...) }

// The commands that hints name, in one place because another part defines them.
const (
	listCommand = "dagger call environments"
	editCommand = "dagger call secrets edit --file=" // and the file
)

// edit is the hint for a fault of the file itself: what to write, and the
// command that reads every environment again.
func edit(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + "; then check it: " + listCommand
}
