package playbook

import (
	"context"
	"errors"

	"slipway/internal/ansible"
	"slipway/internal/hosts"
	"slipway/internal/run"
)

// Deploy runs the playbook, and adds the hosts' results to the run's. Show adds them to the report.
func (s *Site) Deploy(ctx context.Context, o Options) (*ansible.Record, error) {
	s.unreached = hosts.Reach(ctx, s.Run, s.Hosts, s.Key)
	done, err := s.play(ctx, o)
	if done == nil {
		return nil, err
	}
	ended, _ := errors.AsType[*run.EndError](err)
	s.Result.Hosts = s.results(done, ended != nil && ended.Status == "interrupted")
	return done, err
}
