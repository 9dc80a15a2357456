package playbook

import (
	"context"

	"slipway/internal/ansible"
	"slipway/internal/fault"
	"slipway/internal/hosts"
)

// Deploy runs the playbook, and adds the hosts' results to the run's. Show adds them to the report.
func (s *Site) Deploy(ctx context.Context, o Options) (*ansible.Record, error) {
	s.unreached = hosts.Reach(ctx, s.Run, s.Hosts, s.Key)
	done, err := s.play(ctx, o)
	if done == nil {
		return nil, err
	}
	s.Result.Hosts = s.results(done, fault.Is(err, fault.Interrupted))
	return done, err
}
