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

// playable lists the servers of a cloud for the machines that play them.
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

// play is `cloudsim machine`: the first program in the container of a machine.
func play(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("machine", flag.ExitOnError)
	p := &machine.Player{}
	flags.StringVar(&p.Cloud, "cloud", "http://cloudsim:9000", "URL of the simulated cloud")
	flags.StringVar(&p.Name, "name", "", "name of the machine")
	flags.StringVar(&p.Data, "data", "/machine", "folder that keeps the servers' disks")
	listen := flags.String("listen", ":9001", "address that answers while the machine is there")
	_ = flags.Parse(args) // it exits
	if p.Name == "" || flags.NArg() > 0 {
		return errors.New("takes --name and a name")
	}
	if err := os.MkdirAll(p.Data, 0o755); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	log.Printf("machine %s is there", p.Name)
	return p.Play(ctx)
}
