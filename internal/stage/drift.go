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
	"slipway/internal/environment"
	"slipway/internal/plan"
	"slipway/internal/refusal"
	"slipway/internal/state"
)

// driftName is what a check leaves in /out, for the issue.
const driftName = "drift.json"

// drift looks whether the environment still is what its code says. A check that
// fails has found neither drift nor its absence, and says so.
func (s *Run) drift(ctx context.Context) error {
	check := drift.Check{Version: 1, Environment: s.Env, After: 1, Time: s.Begun.UTC().Truncate(time.Second)}
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
	s.Changes = check.Status == drift.Drifted
	check = check.Masked(s.redactor.String)
	s.reportDrift(check)
	data, jsonErr := json.MarshalIndent(check, "", "  ")
	if jsonErr != nil {
		return errors.Join(err, jsonErr)
	}
	return errors.Join(err, os.MkdirAll(s.Out, 0o755), os.WriteFile(filepath.Join(s.Out, driftName), append(data, '\n'), 0o644))
}

func (s *Run) checkDrift(ctx context.Context, check *drift.Check) error {
	var expected []environment.Ignore
	settings := func() error {
		if d := s.Environment.Drift; d != nil {
			expected, check.After = d.Ignore, max(1, d.After)
		}
		return nil
	}
	err := s.eachPlanned(ctx, settings, func(r *Layer, summary plan.Summary) error {
		check.Layers = append(check.Layers, drift.Judge(r.Name, summary, expected, check.Time))
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range expected {
		if e.Expired(check.Time) {
			check.Expired = append(check.Expired, e.Address)
		}
	}
	check.Conclude()
	return nil
}

// countDrift remembers beside the state how often in a row the same was found.
// Where nothing can be remembered, an issue does not wait.
func (s *Run) countDrift(ctx context.Context, check *drift.Check) error {
	check.Hits = check.After
	if s.Store == nil {
		return nil
	}
	key := "drift/" + s.Env + ".json"
	var before drift.Record
	data, err := s.Store.Read(ctx, key)
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
	return s.Store.Write(ctx, key, data)
}

// reportDrift writes what was found for a terminal.
func (s *Run) reportDrift(check drift.Check) {
	if check.Status == drift.Unchecked {
		fmt.Fprintf(&s.Report, "%s: could not be checked\n", s.Env)
		return
	}
	// The check is masked by its fields.
	s.Report.Add(func(func(string) string) string {
		text := fmt.Sprintf("%s: %s\n", s.Env, check.Headline())
		for _, line := range check.Lines() {
			text += "  " + plain(strings.ReplaceAll(line, "\n", `\n`)) + "\n"
		}
		return text
	})
}
