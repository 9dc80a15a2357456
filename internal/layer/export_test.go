package layer

import (
	"context"

	"slipway/internal/tofu"
)

// What the tests of this package look at from outside, because what they use imports it.

var (
	DriftIn      = driftIn
	OfState      = ofState
	ReadRecorded = readRecorded
	Unused       = unused
)

func (l *Layer) Event(e tofu.Event) { l.event(e) }

func (l *Layer) Learn(ctx context.Context) error { return l.learn(ctx) }

func (l *Layer) Other(line []byte) { l.other(line) }

func (l *Layer) ReadOutputs(data []byte) (tofu.Outputs, error) { return l.readOutputs(data) }

func (l *Layer) RefuseProvider(said string, failure error) error {
	return l.refuseProvider(said, failure)
}

func (l *Layer) Settings() (tofu.Init, error) { return l.settings() }
