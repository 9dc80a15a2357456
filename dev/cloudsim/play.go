package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"os"

	"slipway/dev/cloudsim/acme"
	"slipway/dev/cloudsim/machine"
	"slipway/dev/cloudsim/managed"
	"slipway/dev/cloudsim/openstack"
)

// playable lists a cloud's servers for the machines that play them.
func playable(cloud *openstack.Cloud) func() ([]machine.Server, error) {
	return func() ([]machine.Server, error) {
		machines, err := cloud.Machines()
		if err != nil {
			return nil, err
		}
		var list []machine.Server
		for _, m := range machines {
			s := machine.Server{ID: m.ID, Name: m.Name, Status: m.Status, Boots: m.Boots, Networks: m.Networks, Public: m.Public}
			for _, addresses := range m.Addresses {
				s.Addresses = append(s.Addresses, addresses...)
			}
			list = append(list, s)
		}
		return list, nil
	}
}

// commands are what this program does besides being the cloud.
var commands = map[string]func(ctx context.Context, args []string) error{
	"machine":   playMachine,
	"services":  playServices,
	"acme-root": printRoot,
}

// playMachine is `cloudsim machine`: the first program in a machine's container.
func playMachine(ctx context.Context, args []string) error {
	p := &machine.Player{}
	return play(ctx, args, part{"machine", &p.Cloud, &p.Name, &p.Data, p.Play})
}

// playServices is `cloudsim services`: the first program in the container of the managed services.
func playServices(ctx context.Context, args []string) error {
	p := &managed.Player{}
	return play(ctx, args, part{"services", &p.Cloud, &p.Name, &p.Data, p.Play})
}

// printRoot is `cloudsim acme-root`.
func printRoot(context.Context, []string) error {
	text, err := acme.Root()
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	return err
}

// A part is what a player needs to be told.
type part struct {
	kind              string
	cloud, name, data *string
	play              func(context.Context) error
}

// play runs a player until ctx ends.
func play(ctx context.Context, args []string, p part) error {
	flags := flag.NewFlagSet(p.kind, flag.ExitOnError)
	flags.StringVar(p.cloud, "cloud", "http://cloudsim:9000", "URL of the simulated cloud")
	flags.StringVar(p.name, "name", "", "name of the player")
	flags.StringVar(p.data, "data", "/"+p.kind, "folder for its data")
	listen := flags.String("listen", ":9001", "address that responds while the player exists")
	_ = flags.Parse(args) // it exits
	if *p.name == "" || flags.NArg() > 0 {
		return errors.New("--name and a name are required")
	}
	if err := os.MkdirAll(*p.data, 0o755); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	log.Printf("%s %s is ready", p.kind, *p.name)
	return p.play(ctx)
}
