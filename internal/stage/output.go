// Package inspect has the commands that look at an environment and change nothing: output,
// state-list and drift.
package stage

import "context"

// Output shows the outputs, the sensitive ones by name only.
func Output() Command {
	return Command{
		Name: "output", Help: "show the outputs of an environment, the sensitive ones by name only",
		Opens: State, Reads: true,
		Run: func(ctx context.Context, r *Run) error {
			return Each(ctx, r, func(l *Layer) error {
				outputs, err := l.Outputs(ctx)
				if err != nil {
					return err
				}
				l.ShowOutputs(outputs)
				return nil
			})
		},
	}
}
