package inspect

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

// StateList shows the addresses of the resources in the state.
func StateList() run.Command {
	return run.Command{
		Name: "state-list", Help: "show the addresses of the resources in the state",
		Opens: run.State, ByLayer: true, Reads: true,
		Run: func(ctx context.Context, r *run.Run) error {
			return layer.Each(ctx, r, func(l *layer.Layer) error { return listState(ctx, l) })
		},
	}
}

func listState(ctx context.Context, l *layer.Layer) error {
	list, code, err := l.Tool.Output(ctx, tofu.StateListArgs()...)
	// For a state that was never written, tofu reports this error.
	if (err != nil || code != tofu.ExitOK) && !strings.Contains(l.Printed.String(), "No state file was found") {
		return l.Failed(ctx, "state list", err)
	}
	showAddresses(l, list)
	return nil
}

// showAddresses shows a list with one address per line.
func showAddresses(l *layer.Layer, list []byte) {
	if len(bytes.TrimSpace(list)) == 0 {
		fmt.Fprintf(&l.Report, "%s: nothing\n", l.Name)
	}
	for line := range strings.Lines(string(list)) {
		fmt.Fprintf(&l.Report, "%s: %s\n", l.Name, printable.Terminal(strings.TrimSpace(line)))
	}
}
