package talosapi

import (
	"context"
	"errors"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"slipway/internal/printable"
	"slipway/internal/redact"
	"slipway/internal/talos"
)

// A RefusedError means that a machine does not accept what it was given.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Configure gives a configuration to a machine that has none and shows a certificate with this fingerprint.
func (a *Access) Configure(ctx context.Context, address, fingerprint string, wanted config.Provider) error {
	c, err := a.Maintenance(ctx, address, fingerprint)
	if err != nil {
		return errors.New(a.reason(address, err))
	}
	defer c.Close()
	_, err = a.apply(ctx, c, address, wanted, false)
	return err
}

// Restarts asks a machine whether it would restart because of a configuration. Nothing is changed.
func (a *Access) Restarts(ctx context.Context, address string, wanted config.Provider) (bool, error) {
	c, err := a.Trusted(ctx, address)
	if err != nil {
		return false, errors.New(a.reason(address, err))
	}
	defer c.Close()
	return a.apply(ctx, c, address, wanted, true)
}

// Change gives a machine another configuration.
func (a *Access) Change(ctx context.Context, address string, wanted config.Provider) error {
	c, err := a.Trusted(ctx, address)
	if err != nil {
		return errors.New(a.reason(address, err))
	}
	defer c.Close()
	_, err = a.apply(ctx, c, address, wanted, false)
	return err
}

func (a *Access) apply(ctx context.Context, c *client.Client, address string, wanted config.Provider, dryRun bool) (restarts bool, err error) {
	data, err := wanted.EncodeBytes()
	if err != nil {
		return false, errors.New("the configuration cannot be written")
	}
	reply, err := ask(ctx, a, func(ctx context.Context) (*machine.ApplyConfigurationResponse, error) {
		return c.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: data, Mode: machine.ApplyConfigurationRequest_AUTO, DryRun: dryRun})
	})
	if err != nil {
		return false, a.answer(address, err, wanted)
	}
	for _, m := range reply.GetMessages() {
		if m.GetMode() == machine.ApplyConfigurationRequest_REBOOT { //nolint:staticcheck // Talos up to 1.13 answers it
			restarts = true
		}
	}
	return restarts, nil
}

// Bootstrap begins etcd on a control plane. It reports false if etcd has data there already.
func (a *Access) Bootstrap(ctx context.Context, address string) (began bool, err error) {
	c, err := a.Trusted(ctx, address)
	if err != nil {
		return false, errors.New(a.reason(address, err))
	}
	defer c.Close()
	_, err = ask(ctx, a, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Bootstrap(ctx, &machine.BootstrapRequest{})
	})
	if status.Code(err) == codes.AlreadyExists {
		return false, nil
	}
	return err == nil, a.answer(address, err, nil)
}

// answer turns the error of a call that changes something into one that can be shown. What a machine says
// of a configuration can contain all of it: only the first line is shown, and no hidden value.
func (a *Access) answer(address string, err error, wanted config.Provider) error {
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented, codes.ResourceExhausted, codes.Internal, codes.Unknown:
	default:
		return errors.New(a.reason(address, err))
	}
	line, _, _ := strings.Cut(strings.TrimSpace(status.Convert(err).Message()), "\n")
	if wanted != nil {
		values, err := talos.Hidden(wanted)
		if err != nil {
			return &RefusedError{"it gave no reason that can be shown"}
		}
		hidden := redact.New()
		hidden.Add(values...)
		line = hidden.String(line)
	}
	return &RefusedError{printable.Shorten(printable.Terminal(line), 300)}
}
