package talosapi_test

import (
	"crypto/x509"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/must"
	"slipway/internal/rollout"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
	"slipway/internal/testkit/machines"
)

// A machine says itself what it is: without a configuration, of this cluster, of another, or nothing.
func TestObserve(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.13.0", "v1.14.1"} {
		t.Run(version, func(t *testing.T) {
			c := machines.New(t, 3, version)
			o := c.Observe("a")
			if o.API != rollout.Maintenance || o.Stage != "maintenance" || o.Fingerprint != c.Machine("a").Fingerprint() || o.Config != nil || o.Etcd.Known || o.Why != "" {
				t.Errorf("without a configuration: %+v", o)
			}
			c.Configure()
			o = c.Observe("a")
			if o.API != rollout.Configured || o.Version != version || o.Stage != "booting" || o.Busy || o.Ready || o.Boot == "" || o.Config == nil || o.Staged || o.Why != "" || o.Unmet != "services: etcd not running" || o.Expires.Before(time.Now()) {
				t.Errorf("with one: %+v", o)
			}
			if !o.Etcd.Known || !o.Etcd.Empty {
				t.Errorf("etcd has not begun: %+v", o.Etcd)
			}
			if i := slices.IndexFunc(o.Services, func(s talosapi.Service) bool { return s.Name == "etcd" }); i < 0 || o.Services[i].State != "Preparing" || o.Services[i].Known {
				t.Errorf("services: %+v", o.Services)
			}
			if w := c.Observe("w"); w.API != rollout.Configured || w.Stage != "running" || w.Etcd.Known {
				t.Errorf("a worker: %+v", w)
			}
			c.Machine("a").Set(sim.Faults{Booting: true})
			must.Do(t, c.Machine("a").Reboot())
			if o := c.Observe("a"); o.Stage != "booting" || !o.Busy || !o.Etcd.Empty {
				t.Errorf("before its services have started: %+v", o)
			}
			c.Machine("a").Set(sim.Faults{})
			must.Do(t, c.Bootstrap("b"))
			o = c.Observe("a")
			if o.Stage != "running" || o.Busy || !o.Ready {
				t.Errorf("as a member of etcd: %+v", o)
			}
			if !o.Etcd.Known || o.Etcd.Empty || len(o.Etcd.Members) != 3 || o.Etcd.Leader == 0 || o.Etcd.Self == 0 || o.Etcd.Self == o.Etcd.Leader || len(o.Etcd.Alarms) > 0 {
				t.Errorf("etcd has begun on b: %+v", o.Etcd)
			}
			before := o.Boot
			must.Do(t, c.Machine("a").Reboot())
			if after := c.Observe("a").Boot; after == before {
				t.Errorf("after a restart its boot is still %s", after)
			}
		})
	}
}

// What is read of a configuration is what was given.
func TestObserveConfig(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	c.Configure()
	for _, name := range []string{"a", "w"} {
		wanted, err := talos.Render(c.Spec, c.Node(name), c.Bundle)
		must.Do(t, err)
		a, err := talos.Settings(wanted)
		must.Do(t, err)
		b, err := talos.Settings(c.Observe(name).Config)
		must.Do(t, err)
		if changes := talos.Diff(b, a); len(changes) > 0 {
			t.Errorf("%s: %v", name, changes)
		}
	}
}

// A configuration is known if both are: the one with which a machine runs, and the one of its next start. An old
// Talos has only the first.
func TestObserveNextConfig(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	c.Configure()
	for code, known := range map[codes.Code]bool{codes.NotFound: true, codes.Unavailable: false} {
		var asked atomic.Int32
		c.Sim.Calls = func(_, method string) error {
			if strings.HasSuffix(method, "/Get") && asked.Add(1) == 2 {
				return status.Error(code, "canary")
			}
			return nil
		}
		o := c.Observe("w")
		c.Sim.Calls = nil
		if (o.Config != nil) != known || (o.Why == "") != known || o.Staged || strings.Contains(o.Why, "canary") {
			t.Errorf("%s: %+v", code, o)
		}
	}
}

// An answer that is missing is unknown, and so is all that depends on it.
func TestObserveUnread(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	const away, denied = "it cannot be reached", "it does not accept an administrator's certificate"
	for _, q := range []struct {
		before func() // on which the earlier ones build
		method string
		code   codes.Code
		right  func(talosapi.Observation) bool
	}{
		{nil, "Get", codes.Unimplemented, func(o talosapi.Observation) bool {
			return o.API == rollout.Stranger && o.Why == "it is not a Talos machine"
		}},
		{nil, "Get", codes.Unavailable, func(o talosapi.Observation) bool { return o.API == rollout.Silent && o.Why == away }},
		{c.Configure, "Version", codes.Unavailable, func(o talosapi.Observation) bool { return o.API == rollout.Silent && o.Why == away }},
		{nil, "Read", codes.PermissionDenied, func(o talosapi.Observation) bool { return o.Config != nil && o.Boot == "" && o.Why == denied }},
		{nil, "ServiceList", codes.Unavailable, func(o talosapi.Observation) bool { return o.Config != nil && o.Etcd.Empty && !o.Etcd.Known && o.Busy }},
		{func() { must.Do(t, c.Bootstrap("a")) }, "EtcdAlarmList", codes.Unavailable, func(o talosapi.Observation) bool { return o.Etcd.Begun && !o.Etcd.Known && !o.Busy }},
	} {
		c.Sim.Calls = nil
		if q.before != nil {
			q.before()
		}
		c.Sim.Calls = func(_, method string) error {
			if path.Base(method) == q.method {
				return status.Error(q.code, "canary")
			}
			return nil
		}
		if o := c.Observe("a"); !q.right(o) {
			t.Errorf("%s, %s: %+v", q.method, q.code, o)
		}
	}
}

// Each fault is told from others. What cannot be read is unknown.
func TestObserveFaults(t *testing.T) {
	c := machines.New(t, 3, "v1.14.1")
	c.Configure()
	must.Do(t, c.Bootstrap("a"))
	healthy := func(v rollout.View) bool { return v.Known && !v.Empty && len(v.Members) == 3 && v.Leader != 0 }
	for name, f := range map[string]struct {
		faults sim.Faults
		right  func(talosapi.Observation) bool
	}{
		"silent": {sim.Faults{Silent: true}, func(o talosapi.Observation) bool { return o.API == rollout.Silent && o.Why != "" && !o.Etcd.Known }},
		"a mute etcd": {sim.Faults{Mute: true}, func(o talosapi.Observation) bool {
			return o.API == rollout.Configured && !o.Etcd.Known && !o.Etcd.Empty
		}},
		"no leader": {sim.Faults{NoLeader: true}, func(o talosapi.Observation) bool { return o.API == rollout.Configured && !o.Etcd.Known }},
		"an alarm": {sim.Faults{Alarm: "NOSPACE"}, func(o talosapi.Observation) bool {
			return healthy(o.Etcd) && slices.Equal(o.Etcd.Alarms, []string{"NOSPACE"})
		}},
		"nothing at all": {sim.Faults{}, func(o talosapi.Observation) bool { return healthy(o.Etcd) && len(o.Etcd.Alarms) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			c.Machine("b").Set(f.faults)
			if o := c.Observe("b"); !f.right(o) {
				t.Errorf("got %+v", o)
			}
			c.Machine("b").Set(sim.Faults{})
			if o := c.Observe("b"); !healthy(o.Etcd) {
				t.Errorf("when it is over: %+v", o)
			}
		})
	}
	other := machines.New(t, 1, "v1.14.1")
	if o := other.Access.Observe(t.Context(), c.Node("a").Address, true); o.API != rollout.Stranger || o.Config != nil || o.Etcd.Known || o.Why == "" {
		t.Errorf("a machine of another cluster: %+v", o)
	}
}

// Another program that changes a machine is seen by its marks. Whether there is one is unknown if they
// cannot be read, and the machine is then busy, so that it is not changed.
func TestObserveOwner(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	c.Configure()
	if o := c.Observe("a"); o.Owner != "" || o.Busy || o.Why != "" {
		t.Errorf("before it is a node of Kubernetes: %+v", o)
	}
	must.Do(t, c.Bootstrap("a"))
	for name, f := range map[string]struct {
		faults sim.Faults
		want   string
	}{
		"a node's own marks":  {sim.Faults{}, ""},
		"tuppr upgrades it":   {sim.Faults{Labels: map[string]string{"tuppr.home-operations.com/upgrading": "true"}}, "tuppr"},
		"tuppr is done":       {sim.Faults{Annotations: map[string]string{"tuppr.home-operations.com/version": "v1.14.1"}}, ""},
		"Cluster API":         {sim.Faults{Annotations: map[string]string{"cluster.x-k8s.io/cluster-name": "home"}}, "Cluster API"},
		"its machine":         {sim.Faults{Annotations: map[string]string{"cluster.x-k8s.io/machine": "home-a"}}, "Cluster API"},
		"others like its own": {sim.Faults{Annotations: map[string]string{"example.cluster.x-k8s.io/note": "home"}}, ""},
	} {
		c.Machine("a").Set(f.faults)
		if o := c.Observe("a"); o.Owner != f.want || o.Busy || o.Stage != "running" || o.Why != "" {
			t.Errorf("%s: %+v", name, o)
		}
	}
	c.Sim.Calls = func(_, method string) error {
		if method == "/cosi.resource.State/List" {
			return status.Error(codes.Unavailable, "not now")
		}
		return nil
	}
	if o := c.Observe("a"); o.API != rollout.Configured || o.Owner != "" || !o.Busy || o.Why == "" {
		t.Errorf("its marks cannot be read: %+v", o)
	}
}

// A machine that is given a configuration has the very certificate that was seen.
func TestMaintenanceFingerprint(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	connection, err := c.Access.Maintenance(t.Context(), c.Node("a").Address, talosapi.Fingerprint(&x509.Certificate{Raw: []byte("another")}))
	must.Do(t, err)
	defer connection.Close()
	if _, err := connection.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: []byte("x")}); err == nil {
		t.Error("a machine with another certificate was given a configuration")
	}
	if c.Machine("a").Config() != nil {
		t.Error("it has a configuration")
	}
}
