package talos

import (
	"context"
	"maps"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// resourceService answers for the resources of a machine that Slipway reads: its status, its Kubernetes
// node, and its configuration, which is sensitive. Only administrators may read what is, and readers the
// rest: see AccessPolicy in internal/app/resources/access.go of Talos 1.14.
type resourceService struct {
	cosi.UnimplementedStateServer
	node *Node
}

func (s *resourceService) Get(ctx context.Context, in *cosi.GetRequest) (*cosi.GetResponse, error) {
	n := s.node
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	var found resource.Resource
	switch resource.Type(in.Type) {
	case runtime.MachineStatusType:
		found = n.status()
	case config.MachineConfigType:
		if !rolesOf(ctx).Includes(role.Admin) {
			return nil, status.Error(codes.PermissionDenied, "not authorized")
		}
		if n.config == nil || in.Id != config.ActiveID && in.Id != config.PersistentID {
			break
		}
		c := n.config
		if in.Id == config.PersistentID {
			c = n.persisted
		}
		found = config.NewMachineConfigWithID(c, in.Id)
	}
	if found == nil {
		return nil, status.Errorf(codes.NotFound, "resource %s(%s/%s) doesn't exist", in.Type, in.Namespace, in.Id)
	}
	marshalled, err := marshal(found)
	if err != nil {
		return nil, err
	}
	return &cosi.GetResponse{Resource: marshalled}, nil
}

// List lists the machine's Kubernetes node only.
func (s *resourceService) List(in *cosi.ListRequest, stream grpc.ServerStreamingServer[cosi.ListResponse]) error {
	n := s.node
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	if in.Type != k8s.NodeStatusType {
		return status.Errorf(codes.PermissionDenied, "resource type %q is not supported", in.Type)
	}
	// Talos watches the node as its kubelet does, which needs the API of Kubernetes, and so etcd.
	if n.stage != running || len(n.cluster.etcds) == 0 {
		return nil
	}
	marshalled, err := marshal(n.kubernetes())
	if err != nil {
		return err
	}
	return stream.Send(&cosi.ListResponse{Resource: marshalled})
}

func marshal(r resource.Resource) (*cosi.Resource, error) {
	message, err := protobuf.FromResource(r)
	if err != nil {
		return nil, err
	}
	return message.Marshal()
}

// kubernetes is the machine's node as Kubernetes describes it. The lock is held.
func (n *Node) kubernetes() *k8s.NodeStatus {
	node := k8s.NewNodeStatus(k8s.NamespaceName, n.hostname())
	spec := node.TypedSpec()
	spec.Nodename, spec.NodeReady = n.hostname(), true
	spec.Labels = map[string]string{"kubernetes.io/hostname": n.hostname()}
	maps.Copy(spec.Labels, n.faults.Labels)
	spec.Annotations = map[string]string{"node.alpha.kubernetes.io/ttl": "0"}
	maps.Copy(spec.Annotations, n.faults.Annotations)
	return node
}

// status is what the machine says of its stage. A control plane does not end its boot before etcd is up:
// see StartAllServices in v1alpha1_sequencer_tasks.go of Talos 1.14. The lock is held.
func (n *Node) status() *runtime.MachineStatus {
	s := runtime.NewMachineStatus()
	spec := s.TypedSpec()
	spec.Stage = map[stage]runtime.MachineStage{
		maintenance: runtime.MachineStageMaintenance, booting: runtime.MachineStageBooting, running: runtime.MachineStageRunning,
	}[n.stage]
	if n.stage == running && n.control() && n.etcd == nil {
		spec.Stage = runtime.MachineStageBooting
		spec.Status.UnmetConditions = []runtime.UnmetCondition{{Name: "services", Reason: "etcd not running"}}
	}
	spec.Status.Ready = spec.Stage == runtime.MachineStageRunning
	return s
}
