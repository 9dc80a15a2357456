package talosapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	resources "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"slipway/internal/rollout"
	"slipway/internal/talos"
)

// An Observation is what a machine says of itself. What could not be read is zero.
type Observation struct {
	API         rollout.API
	Why         string    // it is silent, or a stranger, or could not be read
	Fingerprint string    // of its certificate
	Expires     time.Time // its certificate
	Version     string    // of Talos, such as v1.14.1
	Stage       string
	Busy        bool   // it is in another stage than running, or than maintenance, and not for want of etcd
	Ready       bool   // nothing is wrong with it in this stage
	Unmet       string // why it is not ready
	Boot        string
	Config      config.Provider
	Staged      bool   // its next boot has another configuration
	Owner       string // another program that changes it; empty: none
	Etcd        rollout.View
	Services    []Service
}

// A Service is one that runs on a machine.
type Service struct {
	Name    string
	State   string
	Healthy bool
	Known   bool   // whether it is healthy
	Since   string // when it was made; empty: unknown
}

// Observe asks a machine. It never fails: what does not answer is silent.
func (a *Access) Observe(ctx context.Context, address string, control bool) Observation {
	f, err := a.look(ctx, address)
	if err != nil {
		return Observation{API: rollout.Silent, Why: a.reason(address, err)}
	}
	o := Observation{Fingerprint: Fingerprint(f.certificate), Expires: f.certificate.NotAfter}
	switch {
	case a.isOurs(f.certificate):
		a.observeOurs(ctx, address, control, &o)
	case f.open:
		a.observeNew(ctx, address, &o)
	default:
		o.API, o.Why = rollout.Stranger, "its certificate is not from this cluster's authority"
	}
	return o
}

// observeNew asks a machine that lets everybody in.
func (a *Access) observeNew(ctx context.Context, address string, o *Observation) {
	c, err := a.Maintenance(ctx, address, o.Fingerprint)
	if err != nil {
		o.API, o.Why = rollout.Silent, a.reason(address, err)
		return
	}
	defer c.Close()
	s, err := a.status(ctx, c)
	switch {
	case err == nil:
		o.API, o.Stage, o.Busy = rollout.Maintenance, s.Stage.String(), s.Stage != runtime.MachineStageMaintenance
	case status.Code(err) == codes.Unimplemented:
		o.API, o.Why = rollout.Stranger, "it is not a Talos machine"
	default:
		o.API, o.Why = rollout.Silent, a.reason(address, err)
	}
}

// status returns what the machine says of its stage.
func (a *Access) status(ctx context.Context, c *client.Client) (*runtime.MachineStatusSpec, error) {
	return ask(ctx, a, func(ctx context.Context) (*runtime.MachineStatusSpec, error) {
		found, err := safe.StateGet[*runtime.MachineStatus](ctx, c.COSI, runtime.NewMachineStatus().Metadata())
		if err != nil {
			return nil, err
		}
		return found.TypedSpec(), nil
	})
}

func (a *Access) observeOurs(ctx context.Context, address string, control bool, o *Observation) {
	c, err := a.Trusted(ctx, address)
	if err != nil {
		o.API, o.Why = rollout.Silent, a.reason(address, err)
		return
	}
	defer c.Close()
	version, err := ask(ctx, a, func(ctx context.Context) (*machine.VersionResponse, error) { return c.Version(ctx) })
	if err != nil {
		o.API, o.Why = rollout.Silent, a.reason(address, err)
		return
	}
	o.API = rollout.Configured
	for _, m := range version.GetMessages() {
		o.Version = m.GetVersion().GetTag()
	}
	if o.Boot, err = a.boot(ctx, c); err != nil {
		o.Why = a.reason(address, err)
	}
	if o.Config, o.Staged, err = a.config(ctx, c); err != nil {
		o.Why = a.reason(address, err)
	}
	o.Busy = true // until it says otherwise, and whether another program changes it
	s, err := a.status(ctx, c)
	if err == nil {
		o.Owner, err = a.owner(ctx, c, o.Config)
	}
	if err == nil {
		o.Stage, o.Busy, o.Ready = s.Stage.String(), s.Stage != runtime.MachineStageRunning, s.Status.Ready
		for _, u := range s.Status.UnmetConditions {
			o.Unmet = u.Name + ": " + u.Reason
		}
	} else {
		o.Why = a.reason(address, err)
	}
	if services, err := ask(ctx, a, func(ctx context.Context) (*machine.ServiceListResponse, error) { return c.ServiceList(ctx) }); err == nil {
		for _, m := range services.GetMessages() {
			for _, s := range m.GetServices() {
				o.Services = append(o.Services, Service{
					Name: s.GetId(), State: s.GetState(), Healthy: s.GetHealth().GetHealthy(), Known: !s.GetHealth().GetUnknown(), Since: since(s),
				})
			}
		}
	}
	if control {
		o.Etcd = a.etcd(ctx, c)
		if o.Etcd.Empty {
			o.Etcd.Service = o.etcdSince()
			o.Etcd.Known = o.Etcd.Service != ""
		}
		o.Busy = o.Busy && !o.awaitsEtcd()
	}
}

// since returns when a service was made. Each new service has its own events.
func since(s *machine.ServiceInfo) string {
	events := s.GetEvents().GetEvents()
	if len(events) == 0 {
		return ""
	}
	return events[0].GetTs().AsTime().Format(time.RFC3339Nano)
}

// etcdSince returns when the service etcd was made.
func (o *Observation) etcdSince() string {
	for _, s := range o.Services {
		if s.Name == "etcd" {
			return s.Since
		}
	}
	return ""
}

// awaitsEtcd reports whether a control plane has done all that it can do before etcd begins, or before it
// joins: Talos does not end its boot before that. Its service etcd starts after all that Bootstrap needs.
func (o *Observation) awaitsEtcd() bool {
	return o.Stage == runtime.MachineStageBooting.String() && o.Etcd.Empty &&
		slices.ContainsFunc(o.Services, func(s Service) bool { return s.Name == "etcd" && s.State == "Preparing" })
}

// Services lists the names of what runs on a machine.
func (a *Access) Services(ctx context.Context, address string) (names []string, err error) {
	c, err := a.Trusted(ctx, address)
	if err != nil {
		return nil, errors.New(a.reason(address, err))
	}
	defer c.Close()
	list, err := ask(ctx, a, func(ctx context.Context) (*machine.ServiceListResponse, error) { return c.ServiceList(ctx) })
	if err != nil {
		return nil, errors.New(a.reason(address, err))
	}
	for _, m := range list.GetMessages() {
		for _, s := range m.GetServices() {
			names = append(names, s.GetId())
		}
	}
	return names, nil
}

// Logs returns the last lines that a service on a machine has logged.
func (a *Access) Logs(ctx context.Context, address, service string, lines int) (string, error) {
	c, err := a.Trusted(ctx, address)
	if err != nil {
		return "", errors.New(a.reason(address, err))
	}
	defer c.Close()
	text, err := ask(ctx, a, func(ctx context.Context) ([]byte, error) {
		stream, err := c.Logs(ctx, constants.SystemContainerdNamespace, common.ContainerDriver_CONTAINERD, service, false, int32(min(lines, maxLines)))
		if err != nil {
			return nil, err
		}
		r, err := client.ReadStream(stream)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(io.LimitReader(r, maxLines*1000))
	})
	if err != nil {
		return "", errors.New(a.reason(address, err))
	}
	return string(text), nil
}

// maxLines is how many lines of a log are read at most.
const maxLines = 10_000

// ask makes one call, for which the machine has so much time.
func ask[T any](ctx context.Context, a *Access, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	return call(ctx)
}

// boot returns what identifies the machine's boot.
func (a *Access) boot(ctx context.Context, c *client.Client) (string, error) {
	return ask(ctx, a, func(ctx context.Context) (string, error) {
		r, err := c.Read(ctx, "/proc/sys/kernel/random/boot_id")
		if err != nil {
			return "", err
		}
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, 1000))
		if err == nil && len(text) == 0 {
			err = errors.New("its boot has no ID")
		}
		return strings.TrimSpace(string(text)), err
	})
}

// config returns the configuration with which the machine runs, and whether its next boot has another.
func (a *Access) config(ctx context.Context, c *client.Client) (config.Provider, bool, error) {
	get := func(id resource.ID) (*resources.MachineConfig, error) {
		return ask(ctx, a, func(ctx context.Context) (*resources.MachineConfig, error) {
			return safe.StateGet[*resources.MachineConfig](ctx, c.COSI, resource.NewMetadata(resources.NamespaceName, resources.MachineConfigType, id, resource.VersionUndefined))
		})
	}
	active, err := get(resources.ActiveID)
	if err != nil {
		return nil, false, err
	}
	persistent, err := get(resources.PersistentID)
	if state.IsNotFoundError(err) {
		return active.Provider(), false, nil // an old Talos has no such resource
	}
	if err != nil {
		return nil, false, err
	}
	now, err := talos.Settings(active.Provider())
	if err != nil {
		return nil, false, err
	}
	next, err := talos.Settings(persistent.Provider())
	if err != nil {
		return nil, false, err
	}
	return active.Provider(), len(talos.Diff(now, next)) > 0, nil
}

// dataFolder is empty until etcd begins on a control plane: Talos itself refuses to bootstrap by that.
const dataFolder = "/var/lib/etcd"

// etcd returns the member's own view. It is unknown unless every question is answered.
func (a *Access) etcd(ctx context.Context, c *client.Client) rollout.View {
	// Asked first: the other questions wait for etcd until their time is up.
	empty, err := a.isEmpty(ctx, c, dataFolder)
	if err == nil && empty {
		return rollout.View{Known: true, Empty: true}
	}
	unknown := rollout.View{Begun: err == nil}
	own, err := ask(ctx, a, func(ctx context.Context) (*machine.EtcdStatusResponse, error) { return c.EtcdStatus(ctx) })
	if err != nil {
		return unknown
	}
	v := rollout.View{Known: true}
	for _, m := range own.GetMessages() {
		v.Self, v.Leader = m.GetMemberStatus().GetMemberId(), m.GetMemberStatus().GetLeader()
	}
	list, err := ask(ctx, a, func(ctx context.Context) (*machine.EtcdMemberListResponse, error) {
		return c.EtcdMemberList(ctx, &machine.EtcdMemberListRequest{QueryLocal: true})
	})
	if err != nil {
		return unknown
	}
	for _, m := range list.GetMessages() {
		for _, member := range m.GetMembers() {
			v.Members = append(v.Members, rollout.Member{ID: member.GetId(), Name: member.GetHostname(), Learner: member.GetIsLearner()})
		}
	}
	alarms, err := ask(ctx, a, func(ctx context.Context) (*machine.EtcdAlarmListResponse, error) { return c.EtcdAlarmList(ctx) })
	if err != nil || v.Self == 0 || len(v.Members) == 0 {
		return unknown
	}
	for _, m := range alarms.GetMessages() {
		for _, alarm := range m.GetMemberAlarms() {
			if name := alarm.GetAlarm().String(); alarm.GetAlarm() != machine.EtcdMemberAlarm_NONE && !slices.Contains(v.Alarms, name) {
				v.Alarms = append(v.Alarms, name)
			}
		}
	}
	return v
}

// isEmpty reports whether a folder on the machine has nothing in it.
func (a *Access) isEmpty(ctx context.Context, c *client.Client, folder string) (bool, error) {
	return ask(ctx, a, func(ctx context.Context) (bool, error) {
		stream, err := c.LS(ctx, &machine.ListRequest{Root: folder})
		if err != nil {
			return false, err
		}
		there := false
		for {
			f, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF) && !there:
				return false, fmt.Errorf("%s was not listed", folder)
			case errors.Is(err, io.EOF):
				return true, nil
			case err != nil:
				return false, err
			case f.GetError() != "":
				return false, fmt.Errorf("%s cannot be read", folder)
			case strings.TrimSuffix(f.GetName(), "/") == folder:
				there = true
			default:
				return false, nil
			}
		}
	})
}
