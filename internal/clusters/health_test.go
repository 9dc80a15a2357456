package clusters_test

import (
	"context"
	"path"
	"sync/atomic"
	"testing"
	"time"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/must"
)

// Who waits for the health of a cluster learns what it lacks, and does not wait for ever.
func TestAwaitHealth(t *testing.T) {
	s := newSite(t, 3, "v1.14.1")
	must.Do(t, s.roll(every...).Do(t.Context()))
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}
	must.Do(t, c.AwaitHealth(t.Context(), time.Hour))

	const ill = "it is not known which members of etcd b sees"
	s.Machine("b").Set(sim.Faults{Mute: true})
	err := c.AwaitHealth(t.Context(), 0)
	must.Fail(t, err, ill)
	must.Hint(t, err, "dagger call cluster logs --env=test --node=a --service=etcd")

	ctx, stop := context.WithCancel(t.Context())
	s.desk.Stderr = onWrite(stop)
	err = c.AwaitHealth(ctx, time.Hour)
	if e, ok := fault.Of(err); !ok || e.Kind != fault.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
	must.Hint(t, err, "dagger call cluster health --env=test")

	var asked, said atomic.Int32
	s.Sim.Calls = func(address, method string) error {
		if address == s.Node("b").Address && path.Base(method) == "Version" && asked.Add(1) == 4 {
			s.Machine("b").Set(sim.Faults{})
		}
		return nil
	}
	s.desk.Stderr = onWrite(func() { said.Add(1) })
	must.Do(t, c.AwaitHealth(t.Context(), time.Hour))
	if n := said.Load(); n != 1 {
		t.Errorf("it says %d times for what it waits", n)
	}
}

// onWrite is called when a run says something.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}
