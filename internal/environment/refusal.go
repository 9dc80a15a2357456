package environment

import "fmt"

// A Refusal is an error that its reader can mend: one sentence, lower case,
// that names the value, and the exact next command.
type Refusal struct{ Message, Hint string }

func (r *Refusal) Error() string { return r.Message }

func refuse(hint, format string, args ...any) error {
	return &Refusal{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// The commands that hints name, in one place because another part defines them.
const (
	listCommand   = "dagger call environments"
	sourceCommand = "dagger call --source=<folder> environments"
	editCommand   = "dagger call secrets edit --file=" // and the file
)

// edit is the hint for a fault of the file itself: what to write, and the
// command that reads every environment again.
func edit(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + "; then check it: " + listCommand
}
