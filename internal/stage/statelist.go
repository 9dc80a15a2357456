package stage

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"slipway/internal/printable"
	"slipway/internal/tofu"
)

// StateList shows the addresses of the resources in the state.
func StateList() Command {
	return Command{
		Name: "state-list", Help: "show the addresses of the resources in the state",
		Opens: State, Reads: true,
		Run: func(ctx context.Context, r *Run) error {
			return Each(ctx, r, func(l *Layer) error { return listState(ctx, l) })
		},
	}
}

func listState(ctx context.Context, l *Layer) error {
	list, code, err := l.Tool.Output(ctx, tofu.StateListArgs()...)
	// tofu says this of a state that was never written.
	if (err != nil || code != tofu.ExitOK) && !strings.Contains(l.Printed.String(), "No state file was found") {
		return l.Failed(ctx, "state list", err)
	}
	showAddresses(l, list)
	return nil
}

// showAddresses shows a list that has one on each line.
func showAddresses(l *Layer, list []byte) {
	if len(bytes.TrimSpace(list)) == 0 {
		fmt.Fprintf(&l.Report, "%s: nothing\n", l.Name)
	}
	for line := range strings.Lines(string(list)) {
		fmt.Fprintf(&l.Report, "%s: %s\n", l.Name, printable.Terminal(strings.TrimSpace(line)))
	}
}
