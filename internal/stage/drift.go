package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"slipway/internal/drift"
	"slipway/internal/refusal"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// driftName is what a check leaves in /out, for the issue.
const driftName = "drift.json"

// drift looks whether the environment still is what its code says. A check that
// fails has found neither drift nor its absence, and says so.
func (s *session) drift(ctx context.Context) error {
	check := drift.Check{Version: 1, Environment: s.Environment, After: 1, Time: s.begun.UTC().Truncate(time.Second)}
	err := s.checkDrift(ctx, &check)
	if err != nil {
		check.Status = drift.Unchecked
		check.Error = err.Error()
		var input *refusal.Error
		if errors.As(err, &input) {
			check.Hint = input.Hint
		}
	}
	// Also of a check that was stopped.
	after := context.WithoutCancel(ctx)
	err = errors.Join(err, s.countDrift(after, &check))
	s.changes = check.Status == drift.Drifted
	s.reportDrift(check)
	check.Error, check.Hint = s.redactor.String(check.Error), s.redactor.String(check.Hint)
	data, jsonErr := json.MarshalIndent(check, "", "  ")
	if jsonErr != nil {
		return errors.Join(err, jsonErr)
	}
	return errors.Join(err, os.MkdirAll(s.Out, 0o755), os.WriteFile(filepath.Join(s.Out, driftName), append(data, '\n'), 0o644))
}

func (s *session) checkDrift(ctx context.Context, check *drift.Check) error {
	if err := s.timed("open", func() error { return s.open(ctx) }); err != nil {
		return err
	}
	settings := s.environment.Drift
	if settings != nil && settings.After > 0 {
		check.After = settings.After
	}
	roots, err := s.roots()
	if err != nil {
		return err
	}
	for _, r := range roots {
		if err := r.noteRuns(ctx); err != nil {
			return err
		}
		if err := r.init(ctx); err != nil {
			return err
		}
		summary, err := r.planned(ctx, tofu.Plan{})
		if err != nil {
			return err
		}
		layer := drift.Judge(r.name, summary, nil, check.Time)
		if settings != nil {
			layer = drift.Judge(r.name, summary, settings.Ignore, check.Time)
		}
		check.Layers = append(check.Layers, layer)
	}
	if settings != nil {
		for _, e := range settings.Ignore {
			if e.Expired(check.Time) {
				check.Expired = append(check.Expired, e.Address)
			}
		}
	}
	check.Conclude()
	return nil
}

// countDrift remembers beside the state how often in a row the same was found.
// Where nothing can be remembered, an issue does not wait.
func (s *session) countDrift(ctx context.Context, check *drift.Check) error {
	check.Hits = check.After
	if s.store == nil {
		return nil
	}
	key := "drift/" + s.Environment + ".json"
	var before drift.Record
	data, err := s.store.Read(ctx, key)
	switch {
	case errors.Is(err, state.ErrNone):
	case err != nil:
		return err
	case json.Unmarshal(data, &before) != nil || before.Version != 1:
		before = drift.Record{} // it counts, and counting begins anew
	}
	if data, err = json.Marshal(check.Count(before)); err != nil {
		return err
	}
	return s.store.Write(ctx, key, data)
}

// reportDrift writes what was found for a terminal.
func (s *session) reportDrift(check drift.Check) {
	if check.Status == drift.Unchecked {
		fmt.Fprintf(&s.report, "%s: could not be checked\n", s.Environment)
		return
	}
	fmt.Fprintf(&s.report, "%s: %s\n", s.Environment, check.Headline())
	for _, line := range check.Lines() {
		s.report.WriteString("  " + plain(strings.ReplaceAll(line, "\n", `\n`)) + "\n")
	}
}
