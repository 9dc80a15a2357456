package main

import (
	"context"
	"flag"
	"io"
	"net"

	"slipway/internal/fault"
	"slipway/internal/remote"
)

// connect is ssh's ProxyCommand: it connects its input and output to a port, through a proxy. What
// it passes on is encrypted end to end.
func connect(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("connect", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	proxy := flags.String("proxy", "", "URL of the HTTP proxy")
	if err := flags.Parse(args); err != nil {
		return fault.Refuse("slipway connect --proxy=http://HOST:PORT HOST PORT", "connect: %v", err)
	}
	if *proxy == "" || flags.NArg() != 2 {
		return fault.Refuse("slipway connect --proxy=http://HOST:PORT HOST PORT", "connect takes a proxy, a host and a port")
	}
	connection, err := remote.Connect(ctx, *proxy, net.JoinHostPort(flags.Arg(0), flags.Arg(1)))
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		_, _ = io.Copy(connection, in) // ssh ends by closing both
		_ = connection.Close()
	}()
	_, _ = io.Copy(out, connection)
	return nil
}
