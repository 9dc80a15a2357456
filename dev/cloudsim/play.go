package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"os"

	"slipway/dev/cloudsim/machine"
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
			s := machine.Server{ID: m.ID, Name: m.Name, Status: m.Status}
			for _, addresses := range m.Addresses {
				s.Addresses = append(s.Addresses, addresses...)
			}
			list = append(list, s)
		}
		return list, nil
	}
}

// play is `cloudsim machine`: the first program in a machine's container.
func play(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("machine", flag.ExitOnError)
	p := &machine.Player{}
	flags.StringVar(&p.Cloud, "cloud", "http://cloudsim:9000", "URL of the simulated cloud")
	flags.StringVar(&p.Name, "name", "", "name of the machine")
	flags.StringVar(&p.Data, "data", "/machine", "folder for the servers' disks")
	listen := flags.String("listen", ":9001", "address that responds while the machine exists")
	_ = flags.Parse(args) // it exits
	if p.Name == "" || flags.NArg() > 0 {
		return errors.New("--name and a name are required")
	}
	if err := os.MkdirAll(p.Data, 0o755); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	log.Printf("machine %s is ready", p.Name)
	return p.Play(ctx)
}
