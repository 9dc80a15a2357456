// Package inspect contains the commands that inspect an environment and change nothing: output,
// state-list and drift.
package inspect

import (
	"context"

	"slipway/internal/layer"
	"slipway/internal/run"
)

// Output shows the outputs. Sensitive ones are shown by name only.
func Output() run.Command {
	return run.Command{
		Name: "output", Help: "show the outputs of an environment; sensitive ones by name only",
		Opens: run.State, ByLayer: true, Reads: true,
		Run: func(ctx context.Context, r *run.Run) error {
			return layer.Each(ctx, r, func(l *layer.Layer) error {
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
