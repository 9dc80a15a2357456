package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"slipway/internal/state"
)

// bootstrap makes the place where the environment's state is kept, and proves
// that it can keep a lock. It is safe to repeat.
func (s *Run) bootstrap(ctx context.Context) error {
	if err := s.Load(); err != nil {
		return err
	}
	return s.prepare(ctx)
}

// up takes an environment from nothing to running: what is done already is not
// done again.
func (s *Run) up(ctx context.Context) error {
	if err := s.Load(); err != nil {
		return err
	}
	if s.Store != nil {
		_, err := s.Store.Read(ctx, s.MarkerKey())
		if errors.Is(err, state.ErrNone) {
			err = s.prepare(ctx)
		}
		if err != nil {
			return err
		}
	}
	return s.apply(ctx)
}

func (s *Run) prepare(ctx context.Context) error {
	if _, err := s.Encryption(); err != nil {
		return err
	}
	if s.Store == nil {
		fmt.Fprintf(&s.Report, "nothing to do: the state is kept by the server at %s\n", s.Environment.State.HTTP.Address)
		return nil
	}
	done, err := s.Store.Bootstrap(ctx)
	if err != nil {
		return err
	}
	if done.Created {
		fmt.Fprintf(&s.Report, "made %s\n", s.Store.Name())
	} else {
		fmt.Fprintf(&s.Report, "%s was there\n", s.Store.Name())
	}
	s.Report.WriteString("it keeps a lock: 25 times, one of 8 writers at once won\n")
	if done.Versions {
		s.Report.WriteString("it keeps earlier versions of the state\n")
	} else {
		s.Report.WriteString("it keeps no earlier versions of the state: the store has none\n")
	}
	return s.mark(ctx)
}

// mark puts the environment's marker into the store, or renews the proof of a
// passphrase that has been changed.
func (s *Run) mark(ctx context.Context) error {
	old, err := s.Store.Read(ctx, s.MarkerKey())
	if err != nil && !errors.Is(err, state.ErrNone) {
		return err
	}
	if err == nil {
		if err := s.CheckMarker(old); err != nil {
			return err
		}
	}
	passphrase := s.Credentials[state.Passphrase]
	if m, err := readMarker(old); err == nil && m.Version == 2 && m.provedBy(passphrase) {
		return nil
	}
	m, err := newMarker(s.Env, passphrase)
	if err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.Report, "marked it as that of environment %s\n", s.Env)
	return s.Store.Write(ctx, s.MarkerKey(), data)
}
