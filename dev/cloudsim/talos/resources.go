package talos

import (
	"context"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// resourceService answers for the resources of a machine that Slipway reads: its status and its
// configuration, which only administrators may read.
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
			return nil, status.Error(codes.PermissionDenied, "no access is permitted")
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
	message, err := protobuf.FromResource(found)
	if err != nil {
		return nil, err
	}
	marshalled, err := message.Marshal()
	if err != nil {
		return nil, err
	}
	return &cosi.GetResponse{Resource: marshalled}, nil
}

// status is what the machine says of its stage. The lock is held.
func (n *Node) status() *runtime.MachineStatus {
	s := runtime.NewMachineStatus()
	s.TypedSpec().Stage = map[stage]runtime.MachineStage{
		maintenance: runtime.MachineStageMaintenance, booting: runtime.MachineStageBooting, running: runtime.MachineStageRunning,
	}[n.stage]
	s.TypedSpec().Status.Ready = n.stage == running
	return s
}
