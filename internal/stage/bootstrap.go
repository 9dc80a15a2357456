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
func (s *session) bootstrap(ctx context.Context) error {
	if err := s.load(); err != nil {
		return err
	}
	return s.prepare(ctx)
}

// up takes an environment from nothing to running: what is done already is not
// done again.
func (s *session) up(ctx context.Context) error {
	if err := s.load(); err != nil {
		return err
	}
	if s.store != nil {
		_, err := s.store.Read(ctx, s.markerKey())
		if errors.Is(err, state.ErrNone) {
			err = s.prepare(ctx)
		}
		if err != nil {
			return err
		}
	}
	return s.apply(ctx)
}

func (s *session) prepare(ctx context.Context) error {
	if _, err := s.encryption(); err != nil {
		return err
	}
	if s.store == nil {
		fmt.Fprintf(&s.report, "nothing to do: the state is kept by the server at %s\n", s.environment.State.HTTP.Address)
		return nil
	}
	done, err := s.store.Bootstrap(ctx)
	if err != nil {
		return err
	}
	if done.Created {
		fmt.Fprintf(&s.report, "made %s\n", s.store.Name())
	} else {
		fmt.Fprintf(&s.report, "%s was there\n", s.store.Name())
	}
	s.report.WriteString("it keeps a lock: 25 times, one of 8 writers at once won\n")
	if done.Versions {
		s.report.WriteString("it keeps earlier versions of the state\n")
	} else {
		s.report.WriteString("it keeps no earlier versions of the state: the store has none\n")
	}
	return s.mark(ctx)
}

// mark puts the environment's marker into the store, or renews the proof of a
// passphrase that has been changed.
func (s *session) mark(ctx context.Context) error {
	old, err := s.store.Read(ctx, s.markerKey())
	if err != nil && !errors.Is(err, state.ErrNone) {
		return err
	}
	if err == nil {
		if err := s.checkMarker(old); err != nil {
			return err
		}
	}
	passphrase := s.credentials[state.Passphrase]
	if m, err := readMarker(old); err == nil && m.Version == 2 && m.provedBy(passphrase) {
		return nil
	}
	m, err := newMarker(s.Environment, passphrase)
	if err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.report, "marked it as that of environment %s\n", s.Environment)
	return s.store.Write(ctx, s.markerKey(), data)
}
