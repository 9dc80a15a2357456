package talos

import (
	"context"
	"fmt"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// machineService answers the methods of Talos' MachineService that Slipway calls.
type machineService struct {
	machine.UnimplementedMachineServiceServer
	node *Node
}

func (s *machineService) lock() *Node {
	s.node.cluster.mu.Lock()
	return s.node
}

func (s *machineService) unlock() { s.node.cluster.mu.Unlock() }

// Version is one of many calls that internal/app/maintenance (1.12) does not answer. From 1.13 on, machined
// itself answers in maintenance mode, too.
func (s *machineService) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	defer s.unlock()
	n := s.lock()
	if n.stage == maintenance && strings.HasPrefix(n.Version, "v1.12.") {
		return nil, status.Error(codes.Unimplemented, "API is not implemented in maintenance mode")
	}
	return &machine.VersionResponse{Messages: []*machine.Version{{Version: &machine.VersionInfo{Tag: n.Version}}}}, nil
}

// ApplyConfiguration is that of internal/app/maintenance (1.12) for a machine without a configuration, and
// of internal/app/machined/internal/server/v1alpha1 for others. Up to 1.13 AUTO restarts the machine for
// some changes, from 1.14 on it never does.
func (s *machineService) ApplyConfiguration(ctx context.Context, in *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	defer s.unlock()
	n := s.lock()
	if n.config != nil && !rolesOf(ctx).Includes(role.Admin) {
		return nil, status.Error(codes.PermissionDenied, "not authorized")
	}
	wanted, err := configloader.NewFromBytes(in.GetData())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if wanted.RawV1Alpha1() == nil {
		if n.config == nil { // Talos takes it and stays in maintenance mode
			return nil, status.Error(codes.Unimplemented, "the simulated machine takes no part of a configuration in maintenance mode")
		}
		return nil, status.Error(codes.InvalidArgument, "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?")
	}
	if n.faults.Rejects != "" {
		return nil, status.Error(codes.InvalidArgument, n.faults.Rejects)
	}
	warnings, err := wanted.ValidateAsClient(metal{})
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	restart := n.config == nil
	reply := &machine.ApplyConfiguration{Warnings: warnings, Mode: machine.ApplyConfigurationRequest_NO_REBOOT, ModeDetails: "Applied configuration without a reboot"}
	switch in.Mode {
	case machine.ApplyConfigurationRequest_AUTO:
		if n.config != nil && n.restartsFor(wanted) {
			restart = true
			reply.Mode, reply.ModeDetails = machine.ApplyConfigurationRequest_REBOOT, "Applied configuration with a reboot" //nolint:staticcheck // what 1.13 answers
		}
	case machine.ApplyConfigurationRequest_NO_REBOOT:
		if n.config == nil && n.old() {
			return nil, status.Error(codes.Unimplemented, "apply configuration --mode='no-reboot' is not supported in maintenance mode")
		}
		if n.config != nil && n.restartsFor(wanted) {
			return nil, status.Error(codes.InvalidArgument, "this config change can't be applied in immediate mode\ndiff:\n"+difference(n.config, wanted))
		}
	case machine.ApplyConfigurationRequest_REBOOT: //nolint:staticcheck // callers that choose no mode mean it
		if n.config != nil && !n.old() {
			return nil, status.Error(codes.Unimplemented, "the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead")
		}
		restart = true
	default:
		return nil, status.Errorf(codes.Unimplemented, "the simulated machine has no mode %s", in.Mode)
	}
	if in.DryRun {
		if n.config == nil {
			reply.ModeDetails = "Dry run summary:\nNode is running in maintenance mode and does not have a config yet."
		} else {
			reply.ModeDetails = fmt.Sprintf("Dry run summary:\n%s (skipped in dry-run).\nConfig diff:\n%s", reply.ModeDetails, difference(n.config, wanted))
		}
		return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{reply}}, nil
	}
	// Talos 1.12 to 1.14 write it after they have answered (controllers/config/persistence.go), and a machine
	// that could not boots with its former one, which is the fault Forgets. An answer may still say so.
	if n.faults.Full {
		return nil, status.Error(codes.Unknown, "write /system/state/config.yaml: no space left on device")
	}
	n.persisted = wanted
	if restart {
		n.busy.Go(func() { _ = n.Reboot() })
	} else {
		n.config = wanted
	}
	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{reply}}, nil
}

// difference stands for the text that Talos puts into its answers: it has every secret, old and new.
func difference(old, wanted config.Provider) string {
	var text strings.Builder
	for sign, c := range map[string]config.Provider{"-": old, "+": wanted} {
		for line := range strings.Lines(encoded(c)) {
			text.WriteString(sign + line)
		}
	}
	return text.String()
}

func encoded(c config.Provider) string {
	text, err := c.EncodeString(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return err.Error()
	}
	return text
}

// restartsFor reports whether a change restarts the machine: see CanApplyImmediate in Talos 1.13, which
// names what does not. It is gone in 1.14. The lock is held.
func (n *Node) restartsFor(wanted config.Provider) bool {
	if !n.old() {
		return false
	}
	old, now := n.config.RawV1Alpha1().DeepCopy(), wanted.RawV1Alpha1().DeepCopy()
	now.ConfigDebug, now.ClusterConfig = old.ConfigDebug, old.ClusterConfig
	a, b := old.MachineConfig, now.MachineConfig
	b.MachineCA, b.MachineAcceptedCAs, b.MachineTime, b.MachineCertSANs, b.MachineInstall = a.MachineCA, a.MachineAcceptedCAs, a.MachineTime, a.MachineCertSANs, a.MachineInstall //nolint:staticcheck // as in 1.13
	b.MachineNetwork, b.MachineSysfs, b.MachineSysctls, b.MachineLogging = a.MachineNetwork, a.MachineSysfs, a.MachineSysctls, a.MachineLogging                                   //nolint:staticcheck // as in 1.13
	b.MachineControlPlane, b.MachineKubelet, b.MachineKernel, b.MachineRegistries = a.MachineControlPlane, a.MachineKubelet, a.MachineKernel, a.MachineRegistries                 //nolint:staticcheck // as in 1.13
	b.MachinePods, b.MachineSeccompProfiles = a.MachinePods, a.MachineSeccompProfiles                                                                                             //nolint:staticcheck // as in 1.13
	b.MachineNodeAnnotations, b.MachineNodeLabels, b.MachineNodeTaints = a.MachineNodeAnnotations, a.MachineNodeLabels, a.MachineNodeTaints                                       //nolint:staticcheck // as in 1.13
	return encoded(container.NewV1Alpha1(old)) != encoded(container.NewV1Alpha1(now))
}

// old reports whether the machine's Talos can restart because of a configuration.
func (n *Node) old() bool {
	return strings.HasPrefix(n.Version, "v1.12.") || strings.HasPrefix(n.Version, "v1.13.")
}

type metal struct{}

func (metal) String() string        { return "metal" }
func (metal) RequiresInstall() bool { return true }
func (metal) InContainer() bool     { return false }

// control answers for a worker what Talos' machinehelper.CheckControlplane does. The lock is held.
func (s *machineService) control(method string) error {
	if !s.node.control() {
		return status.Errorf(codes.Unimplemented, "%s is only available on control plane nodes", method)
	}
	return nil
}

// Bootstrap answers before etcd has begun. A second call meanwhile stops the etcd that is about to begin, finds its
// folder no longer empty, fails, and leaves etcd stopped: seen on a node with 1.14.1.
func (s *machineService) Bootstrap(_ context.Context, in *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	defer s.unlock()
	n := s.lock()
	switch {
	case n.stage != running:
		return nil, status.Error(codes.FailedPrecondition, "bootstrap is not available yet")
	case !n.control():
		return nil, s.control("bootstrap")
	case n.etcd != nil:
		return nil, status.Error(codes.AlreadyExists, "etcd data directory is not empty")
	case in.GetRecoverEtcd():
		return nil, status.Error(codes.Unimplemented, "the simulated machine recovers no etcd")
	case n.beginning > 0 || n.stopped:
		n.beginning, n.stopped = 0, true
		return nil, status.Error(codes.Unknown, "etcd data directory is not empty")
	}
	n.service++
	n.beginning = 2
	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

// answers waits for ever where etcd has not begun, as its client in Talos does: seen on a node with 1.14.1. The lock is
// held, and given back for that time. A mute etcd is refused at once, so that tests need not wait.
func (s *machineService) answers(ctx context.Context, method string) error {
	if err := s.control(method); err != nil {
		return err
	}
	if s.node.etcd == nil {
		s.unlock()
		<-ctx.Done()
		s.lock()
		return status.FromContextError(ctx.Err()).Err()
	}
	if s.node.faults.Mute {
		return status.Error(codes.Unavailable, `failed to create etcd client: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused"`)
	}
	return nil
}

func (s *machineService) EtcdStatus(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	defer s.unlock()
	n := s.lock()
	if err := s.answers(ctx, "etcd status"); err != nil {
		return nil, err
	}
	v := n.sees()
	learner := false
	if i := v.index(n.member); i >= 0 {
		learner = v.members[i].learner
	}
	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: &machine.EtcdMemberStatus{MemberId: n.member, Leader: v.leader, IsLearner: learner}}}}, nil
}

// EtcdMemberList needs a leader, as Talos asks etcd to have one.
func (s *machineService) EtcdMemberList(ctx context.Context, _ *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	defer s.unlock()
	n := s.lock()
	if err := s.answers(ctx, "member list"); err != nil {
		return nil, err
	}
	v := n.sees()
	if v.leader == 0 {
		return nil, status.Error(codes.Unavailable, "etcdserver: no leader")
	}
	defer n.cluster.settle() // time passes
	list := &machine.EtcdMembers{}
	for _, m := range v.members {
		list.Members = append(list.Members, &machine.EtcdMember{Id: m.id, Hostname: m.name, IsLearner: m.learner})
	}
	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{list}}, nil
}

func (s *machineService) EtcdAlarmList(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdAlarmListResponse, error) {
	defer s.unlock()
	n := s.lock()
	if err := s.answers(ctx, "etcd alarm list"); err != nil {
		return nil, err
	}
	alarm := &machine.EtcdAlarm{}
	if n.faults.Alarm != "" {
		alarm.MemberAlarms = []*machine.EtcdMemberAlarm{{MemberId: n.member, Alarm: machine.EtcdMemberAlarm_AlarmType(machine.EtcdMemberAlarm_AlarmType_value[n.faults.Alarm])}}
	}
	return &machine.EtcdAlarmListResponse{Messages: []*machine.EtcdAlarm{alarm}}, nil
}

// List lists /var/lib/etcd only: the folder itself, and what etcd has written.
func (s *machineService) List(in *machine.ListRequest, stream grpc.ServerStreamingServer[machine.FileInfo]) error {
	defer s.unlock()
	n := s.lock()
	const data = "/var/lib/etcd"
	if strings.TrimSuffix(in.Root, "/") != data || !n.control() {
		return status.Errorf(codes.Unknown, "lstat %s: no such file or directory", in.Root)
	}
	if n.beginning > 0 {
		if n.beginning--; n.beginning == 0 {
			n.cluster.begin(n)
		}
	}
	files := []*machine.FileInfo{{Name: data, RelativeName: ".", IsDir: true}}
	if n.etcd != nil {
		files = append(files, &machine.FileInfo{Name: data + "/member", RelativeName: "member", IsDir: true})
	}
	for _, f := range files {
		if err := stream.Send(f); err != nil {
			return err
		}
	}
	return nil
}

// Read reads the boot's ID only.
func (s *machineService) Read(in *machine.ReadRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	defer s.unlock()
	n := s.lock()
	if in.Path != "/proc/sys/kernel/random/boot_id" {
		return status.Errorf(codes.Unknown, "stat %s: no such file or directory", in.Path)
	}
	return stream.Send(&common.Data{Bytes: []byte(n.bootID() + "\n")})
}

// Logs has two lines for each service that runs.
func (s *machineService) Logs(in *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	defer s.unlock()
	n := s.lock()
	for _, service := range n.services() {
		if service.Id == in.Id {
			lines := []string{in.Id + ": first line\n", in.Id + ": second line\n"}
			if in.TailLines >= 0 {
				lines = lines[max(0, len(lines)-int(in.TailLines)):]
			}
			return stream.Send(&common.Data{Bytes: []byte(strings.Join(lines, ""))})
		}
	}
	return status.Errorf(codes.Unknown, "log %q was not registered", in.Id)
}

func (s *machineService) ServiceList(context.Context, *emptypb.Empty) (*machine.ServiceListResponse, error) {
	defer s.unlock()
	n := s.lock()
	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{{Services: n.services()}}}, nil
}

// services lists what runs on the machine. The lock is held.
func (n *Node) services() []*machine.ServiceInfo {
	names := []string{"apid", "containerd", "cri", "kubelet", "machined"}
	if n.control() {
		names = append(names, "etcd", "trustd")
	}
	var list []*machine.ServiceInfo
	for _, name := range names {
		info := &machine.ServiceInfo{Id: name, State: "Running", Health: &machine.ServiceHealth{Healthy: true}}
		if name == "etcd" { // each new service has its own events
			info.Events = &machine.ServiceEvents{Events: []*machine.ServiceEvent{{Msg: "Starting service", State: "Starting", Ts: &timestamppb.Timestamp{Seconds: int64(n.service)}}}}
		}
		switch {
		case name != "etcd":
		case n.stopped:
			info.State = "Finished"
		case n.stage != running:
			info.State, info.Health = "Waiting", &machine.ServiceHealth{Unknown: true}
		case n.etcd == nil || n.faults.Mute:
			info.State, info.Health = "Preparing", &machine.ServiceHealth{Unknown: true}
		}
		list = append(list, info)
	}
	return list
}
