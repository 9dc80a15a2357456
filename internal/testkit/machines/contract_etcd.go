package machines

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	resources "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"

	"slipway/internal/must"
	"slipway/internal/testkit/soon"
)

const data = "/var/lib/etcd"

// before: a control plane does not end its boot before etcd begins. Until then etcd does not answer, and its
// folder is there and empty.
func (k *contract) before(t *testing.T) {
	c := k.connect(t, role.Admin)
	if stage := stage(t, c); stage != "booting" {
		t.Errorf("it is in the stage %s", stage)
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	_, err := c.EtcdStatus(ctx) // a machine waits for its etcd as long as the caller does
	code(t, "the status of etcd", err, codes.DeadlineExceeded)
	if files := files(t, c); len(files) != 1 || files[0] != data {
		t.Errorf("its folder has %q", files)
	}
	if o := k.observe(t); !o.Etcd.Known || !o.Etcd.Empty {
		t.Errorf("Slipway sees %+v", o.Etcd)
	}
	if len(nodes(t, c)) > 0 {
		t.Error("there is a node of Kubernetes without etcd")
	}
}

// begin: etcd begins, once.
func (k *contract) begin(t *testing.T) {
	service := k.observe(t).Etcd.Service
	began, err := k.access.Bootstrap(t.Context(), k.node.Address)
	must.Do(t, err)
	// It has not begun yet when the answer is there.
	if now := k.observe(t).Etcd; now.Empty && (now.Service == service || service == "") {
		t.Errorf("its service etcd was %q, and is %q", service, now.Service)
	}
	if !began {
		t.Error("it has begun before")
	}
	soon.Wait(t, "etcd has a leader", func() bool {
		o := k.observe(t)
		return !o.Busy && o.Etcd.Known && o.Etcd.Leader != 0
	})
	v := k.observe(t).Etcd
	if len(v.Members) != 1 || v.Self == 0 || v.Self != v.Leader || v.Members[0].ID != v.Self || v.Members[0].Name != k.node.Name || v.Members[0].Learner || len(v.Alarms) > 0 {
		t.Errorf("Slipway sees %+v", v)
	}
	c := k.connect(t, role.Admin)
	if stage := stage(t, c); stage != "running" {
		t.Errorf("it is in the stage %s", stage)
	}
	if len(files(t, c)) < 2 {
		t.Error("etcd has written nothing")
	}
	code(t, "to begin again", c.Bootstrap(t.Context(), &machine.BootstrapRequest{}), codes.AlreadyExists)
}

// kubernetes: the machine becomes a node of Kubernetes, whose labels and annotations it knows.
func (k *contract) kubernetes(t *testing.T) {
	c := k.connect(t, role.Admin)
	soon.Wait(t, "it is a node of Kubernetes", func() bool { return len(nodes(t, c)) > 0 })
	for _, node := range nodes(t, c) {
		if s := node.TypedSpec(); s.Nodename != k.node.Name || s.Labels["kubernetes.io/hostname"] == "" || len(s.Annotations) == 0 {
			t.Errorf("it is the node %+v", s)
		}
	}
	if o := k.observe(t); o.Owner != "" || o.Busy {
		t.Errorf("Slipway sees %+v", o)
	}
}

// stage returns what the machine says of its stage.
func stage(t *testing.T, c *client.Client) string {
	t.Helper()
	found, err := safe.StateGet[*runtime.MachineStatus](t.Context(), c.COSI, runtime.NewMachineStatus().Metadata())
	must.Do(t, err)
	return found.TypedSpec().Stage.String()
}

// active returns the configuration with which the machine runs.
func active(t *testing.T, c *client.Client) (*resources.MachineConfig, error) {
	return safe.StateGet[*resources.MachineConfig](t.Context(), c.COSI, resource.NewMetadata(resources.NamespaceName, resources.MachineConfigType, resources.ActiveID, resource.VersionUndefined))
}

// nodes lists what the machine knows of its node of Kubernetes.
func nodes(t *testing.T, c *client.Client) []*k8s.NodeStatus {
	t.Helper()
	list, err := safe.StateListAll[*k8s.NodeStatus](t.Context(), c.COSI)
	must.Do(t, err)
	return slices.Collect(list.All())
}

// files lists the folder of etcd, and the folder itself.
func files(t *testing.T, c *client.Client) (names []string) {
	t.Helper()
	stream, err := c.LS(t.Context(), &machine.ListRequest{Root: data})
	must.Do(t, err)
	for {
		f, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return names
		}
		must.Do(t, err)
		names = append(names, f.GetName())
	}
}
