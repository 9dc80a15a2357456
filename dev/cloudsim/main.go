// Command cloudsim is the simulated cloud for environment `local`: an S3 store for OpenTofu's state
// and lock; a part of OpenStack below /-/openstack/, whose servers are listed at /-/servers and
// find their metadata below /-/openstack-metadata/; a part of OVH's API below /-/ovh/; a part of
// GitHub below /-/github/, which at that address shows what was written to it. Rules set at
// /-/faults make requests to the clouds fail.
//
// `cloudsim machine` and `cloudsim services` are the first programs of the containers that play a
// server and the managed services. They ask this program what to play. Its name server leads to
// them, and so does its proxy.
//
// Everything is stored in one data folder and survives the process, even if it is killed: the store
// is a bolt database, which checks a conditional write inside its write transaction. A second
// cloudsim on the same folder waits until the first has ended, so two calls that each start their
// own never see two stores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3bolt"
	bolt "go.etcd.io/bbolt"

	"slipway/dev/cloudsim/acme"
	"slipway/dev/cloudsim/faults"
	"slipway/dev/cloudsim/githubsim"
	"slipway/dev/cloudsim/machine"
	"slipway/dev/cloudsim/managed"
	"slipway/dev/cloudsim/openstack"
	"slipway/dev/cloudsim/ovh"
)

const (
	openstackPrefix = "/-/openstack"
	ovhPrefix       = "/-/ovh"
	githubPrefix    = "/-/github"
	faultsPath      = "/-/faults"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("cloudsim: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		if err := commands[os.Args[1]](ctx, os.Args[2:]); err != nil {
			log.Fatalf("error: %v", err)
		}
		return
	}
	data := flag.String("data", "", "folder for all data")
	listen := flag.String("listen", ":9000", "address to serve on")
	names := flag.String("dns", "", "address of the name server; empty: none")
	flag.Parse()
	if *data == "" || flag.NArg() > 0 {
		log.Fatal("error: --data and a folder are required\ncloudsim: hint: cloudsim --data /tmp/cloudsim")
	}
	if err := serve(ctx, *data, *listen, *names, func(at, _ string) { log.Printf("serving on %s", at) }); err != nil {
		log.Fatalf("error: %v", err)
	}
}

// serve runs until ctx ends. Once it listens, it tells serving its address and that of the name server.
func serve(ctx context.Context, data, listen, names string, serving func(at, names string)) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	log.Printf("opening %s; waiting for any other cloudsim on it", data)
	store, err := bolt.Open(filepath.Join(data, "s3.bolt"), 0o600, nil)
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer store.Close()
	cloud, err := openstack.Open(filepath.Join(data, "openstack.bolt"), openstackPrefix)
	if err != nil {
		return err
	}
	defer cloud.Close()
	databases, err := ovh.Open(filepath.Join(data, "ovh.bolt"), ovhPrefix)
	if err != nil {
		return err
	}
	defer databases.Close()
	github, err := githubsim.Open(filepath.Join(data, "github.json"))
	if err != nil {
		return err
	}
	requests, err := os.OpenFile(filepath.Join(data, "requests.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer requests.Close()
	buckets := gofakes3.New(s3bolt.New(store)).Server()
	var rules faults.Rules
	faultyCloud, faultyDatabases := rules.Around(cloud), rules.Around(databases)
	// No bucket's name begins with a dash. A ServeMux would normalise the keys' paths.
	services := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, openstackPrefix+"/"):
			faultyCloud.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, ovhPrefix+"/"):
			faultyDatabases.ServeHTTP(w, r)
		case r.URL.Path == openstack.ServersPath || strings.HasPrefix(r.URL.Path, openstackPrefix+"-metadata/"):
			cloud.ServeHTTP(w, r)
		case r.URL.Path == faultsPath:
			rules.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, githubPrefix+"/"):
			http.StripPrefix(githubPrefix, github).ServeHTTP(w, r)
		default:
			buckets.ServeHTTP(w, r)
		}
	})
	rack, err := machine.NewRack(filepath.Join(data, "machines.json"), playable(cloud))
	if err != nil {
		return err
	}
	rack.Off = cloud.SwitchedOff
	rack.Resolve = func(name string) (string, error) { return addressOf(databases, name) }
	desk := &managed.Desk{Clusters: databases.Instances, Sources: sources(rack)}
	roots := &acme.Bundle{Path: filepath.Join(data, "acme-roots.pem")}
	if names != "" {
		if names, err = serveNames(ctx, names, rack, desk, databases); err != nil {
			return err
		}
	}
	logged := logged(requests, services)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodConnect:
				rack.Connect(w, r)
			case strings.HasPrefix(r.URL.Path, machine.Path): // too frequent to be logged
				rack.ServeHTTP(w, r)
			case strings.HasPrefix(r.URL.Path, managed.Path):
				desk.ServeHTTP(w, r)
			case r.URL.Path == acme.BundlePath:
				roots.ServeHTTP(w, r)
			default:
				logged.ServeHTTP(w, r)
			}
		}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	serving(listener.Addr().String(), names)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
