package hold

import (
	"context"
	"time"

	"slipway/internal/journal"
	"slipway/internal/run"
)

// Once takes the lock for one action with which no other run could go on: a tool, or something that is safe to repeat. The
// journal has its name. Earlier ones that were interrupted are named and forgotten; the runs of others stay, as their next apply
// goes on from there. It refuses what RefuseBeside refuses.
func Once(ctx context.Context, s Subject, action string, do func(working context.Context) error) error {
	return Resume(ctx, s, func(working context.Context, h *Hold, others Others) (clean bool, err error) {
		if err := forget(ctx, s, others.Dead); err != nil {
			return true, err
		}
		if err := h.Journal.Keep(working, journal.Entry{Kind: journal.Start, Time: time.Now().UTC(), Action: action}); err != nil {
			return true, err
		}
		return true, do(working) // when it has ended, nothing is left to go on with
	})
}

func forget(ctx context.Context, s Subject, dead []journal.Run) error {
	for _, d := range dead {
		if !OfTool(d) {
			continue
		}
		when := "before it began"
		for _, e := range d.Entries {
			if e.Kind == journal.Start {
				when = "while " + e.Action + " ran: it may have done a part of its work"
			}
		}
		s.Run.Say("note: %s%s was interrupted %s", DescribeRun(d), run.Word(Origin(d)), run.Word(when))
		if err := journal.Remove(context.WithoutCancel(ctx), s.Run.Store, d); err != nil {
			return err
		}
	}
	return nil
}
