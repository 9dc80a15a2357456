package talosapi

import (
	"context"
	"net"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"slipway/internal/must"
	"slipway/internal/rollout"
)

// odd answers as no simulated machine does.
type odd struct {
	machine.UnimplementedMachineServiceServer
	boot    []byte
	files   []*machine.FileInfo
	self    uint64
	members []*machine.EtcdMember
	alarms  []machine.EtcdMemberAlarm_AlarmType
}

func (o *odd) Read(_ *machine.ReadRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	return stream.Send(&common.Data{Bytes: o.boot})
}

func (o *odd) List(_ *machine.ListRequest, stream grpc.ServerStreamingServer[machine.FileInfo]) error {
	for _, f := range o.files {
		if err := stream.Send(f); err != nil {
			return err
		}
	}
	return nil
}

func (o *odd) EtcdStatus(context.Context, *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: &machine.EtcdMemberStatus{MemberId: o.self, Leader: 7}}}}, nil
}

func (o *odd) EtcdMemberList(context.Context, *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{{Members: o.members}}}, nil
}

func (o *odd) EtcdAlarmList(context.Context, *emptypb.Empty) (*machine.EtcdAlarmListResponse, error) {
	list := &machine.EtcdAlarm{}
	for _, a := range o.alarms {
		list.MemberAlarms = append(list.MemberAlarms, &machine.EtcdMemberAlarm{Alarm: a})
	}
	return &machine.EtcdAlarmListResponse{Messages: []*machine.EtcdAlarm{list}}, nil
}

// client connects to it.
func (o *odd) client(t *testing.T) *client.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	must.Do(t, err)
	server := grpc.NewServer()
	machine.RegisterMachineServiceServer(server, o)
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(t.Context(), client.WithUnixSocket(socket), client.WithGRPCDialOptions(grpc.WithTransportCredentials(insecure.NewCredentials())))
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// An answer that says too little is none, and one that says too much is read all the same.
func TestOdd(t *testing.T) {
	folder, file := &machine.FileInfo{Name: "/var/lib/etcd/"}, &machine.FileInfo{Name: "/var/lib/etcd/member"}
	one, members := []*machine.EtcdMember{{Id: 7, Hostname: "a"}}, []rollout.Member{{ID: 7, Name: "a"}}
	const none, space = machine.EtcdMemberAlarm_NONE, machine.EtcdMemberAlarm_NOSPACE
	a := &Access{Patience: time.Hour}
	for name, c := range map[string]struct {
		machine odd
		want    rollout.View
	}{
		"etcd has begun":            {odd{files: []*machine.FileInfo{folder, file}, self: 7, members: one}, rollout.View{Known: true, Self: 7, Leader: 7, Members: members}},
		"it has never":              {odd{files: []*machine.FileInfo{folder}, self: 7, members: one}, rollout.View{Known: true, Empty: true}},
		"it is not who":             {odd{files: []*machine.FileInfo{folder, file}, members: one}, rollout.View{Begun: true}},
		"it has no members":         {odd{files: []*machine.FileInfo{folder, file}, self: 7}, rollout.View{Begun: true}},
		"its folder is not listed":  {odd{}, rollout.View{}},
		"its folder cannot be read": {odd{files: []*machine.FileInfo{{Name: folder.Name, Error: "canary"}}}, rollout.View{}},
		"an alarm of two members": {odd{files: []*machine.FileInfo{folder, file}, self: 7, members: one, alarms: []machine.EtcdMemberAlarm_AlarmType{none, space, space}},
			rollout.View{Known: true, Self: 7, Leader: 7, Members: members, Alarms: []string{"NOSPACE"}}},
	} {
		if v := a.etcd(t.Context(), c.machine.client(t)); !reflect.DeepEqual(v, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, v, c.want)
		}
	}
	for text, want := range map[string]string{"id\n": "id", "": ""} {
		id, err := a.boot(t.Context(), (&odd{boot: []byte(text)}).client(t))
		if id != want || (err == nil) != (want != "") {
			t.Errorf("the boot %q: got %q, %v", text, id, err)
		}
	}
}

// Only a control plane that starts for the first time waits for etcd: others are busy until they are done.
func TestAwaitsEtcd(t *testing.T) {
	for name, c := range map[string]struct {
		stage, service, state string
		empty, want           bool
	}{
		"it waits":                {"booting", "etcd", "Preparing", true, true},
		"etcd has run on it":      {"booting", "etcd", "Preparing", false, false},
		"it upgrades":             {"upgrading", "etcd", "Preparing", true, false},
		"its service has not yet": {"booting", "etcd", "Waiting", true, false},
		"another service has":     {"booting", "kubelet", "Preparing", true, false},
	} {
		o := Observation{Stage: c.stage, Etcd: rollout.View{Empty: c.empty}, Services: []Service{{Name: c.service, State: c.state}}}
		if o.awaitsEtcd() != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}
