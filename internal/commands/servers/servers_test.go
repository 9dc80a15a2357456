package servers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/clouds"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/machines"
	"slipway/internal/must"
	"slipway/internal/openstack"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// withServer gives a desk a server in a simulated cloud: the smallest, with Debian 13.
func withServer(d *testkit.Desk) machines.Machine {
	d.T.Helper()
	id := d.OnCloud().Make("/compute/v2.1/servers", `{"server": {"name": "backend", "imageRef": "11111111-0000-4000-8000-000000000002", "flavorRef": "00000000-0000-4000-8000-000064322d32"}}`)
	return machines.Machine{Address: "a.backend", ID: id, Name: "backend"}
}

// Servers are stopped, started and shown. Of a protected environment they are stopped only
// by who names it.
func TestServers(t *testing.T) {
	t.Parallel()
	d := testkit.New(t)
	one := withServer(d)
	servers, databases := []machines.Machine{one}, []machines.Machine{{Name: "db"}}
	cloud, err := clouds.Of(d.Run).OpenStack(t.Context())
	must.Do(t, err)
	status := func(want string) {
		t.Helper()
		server, err := cloud.Get(t.Context(), one.ID)
		must.Do(t, err)
		if server.Status != want {
			t.Errorf("the server is %s", server.Status)
		}
	}
	must.Do(t, powerAll(t.Context(), d.Run, servers, "started", (*openstack.Cloud).Start))
	d.Says("backend is started\n")
	if text := d.Stderr.(*bytes.Buffer).String(); text != "backend …\n" {
		t.Errorf("it tells %q", text)
	}
	must.Do(t, showMachines(t.Context(), d.Run, servers, nil))
	d.Says("NAME     STATUS  ADDRESS      RESOURCE\nbackend  active  203.0.113.2  a.backend\n")

	d.Result.Stage = "stop"
	d.Environment.Protected = true
	confirm := ""
	halt := func() error { return stop(t.Context(), d.Run, servers, databases, confirm) }
	must.Refuse(t, halt(), "environment test is protected, and stop shuts down its servers", "dagger call stop --env=test --confirm=test")
	status(openstack.Active)
	confirm = "test"
	must.Do(t, halt())
	status(openstack.Shutoff)
	d.Says("backend is stopped\ndb is a managed database: it cannot be stopped, keeps running and is still charged\n")
	confirm, d.Environment.Protected = "", false
	must.Do(t, halt())

	d.Result.Stage = "start"
	d.Environment.Protected = true
	must.Do(t, powerAll(t.Context(), d.Run, servers, "started", (*openstack.Cloud).Start))
	status(openstack.Active)
}

// A cloud that cannot be queried is refused with the name of the missing variable. An environment
// without machines of a kind needs no credentials for it.
func TestServersRefused(t *testing.T) {
	d := testkit.New(t)
	must.Do(t, showMachines(t.Context(), d.Run, nil, nil))
	d.Says("test has no servers and no databases\n")
	must.Do(t, powerAll(t.Context(), d.Run, nil, "started", nil))
	d.Says("test has no servers\n")
	one := []machines.Machine{{Name: "one"}}
	for _, act := range []func() error{
		func() error { return showMachines(t.Context(), d.Run, one, nil) },
		func() error {
			return powerAll(t.Context(), d.Run, one, "stopped", (*openstack.Cloud).Stop)
		},
	} {
		must.Refuse(t, act(), "the credentials of test have no OS_AUTH_URL, which is needed to find its servers", "--variable=OS_AUTH_URL")
	}
	must.Refuse(t, showMachines(t.Context(), d.Run, nil, one), "the credentials of test have no OVH_ENDPOINT, which is needed to find its databases", "--variable=OVH_ENDPOINT")
	d.Credentials = map[string]string{"OVH_ENDPOINT": "ovh-xx", "OVH_APPLICATION_KEY": "k", "OVH_APPLICATION_SECRET": "s", "OVH_CONSUMER_KEY": "c"}
	must.Refuse(t, showMachines(t.Context(), d.Run, nil, one), `the credentials of test: OVH_ENDPOINT is "ovh-xx"`, "--variable=OVH_ENDPOINT")
}

// A server that is gone or cannot be queried is a failure.
func TestServersFail(t *testing.T) {
	d := testkit.New(t)
	one := withServer(d)
	one.ID = "22222222-2222-4222-8222-222222222222"
	if err := powerAll(t.Context(), d.Run, []machines.Machine{one}, "stopped", (*openstack.Cloud).Stop); err == nil || !strings.Contains(err.Error(), "server 22222222-2222-4222-8222-222222222222 is GONE") {
		t.Errorf("got %v", err)
	}
	must.Do(t, showMachines(t.Context(), d.Run, []machines.Machine{one}, nil))
	d.Says("backend  gone             a.backend\n")
	d.Credentials["OS_PASSWORD"] = ""
	must.Refuse(t, showMachines(t.Context(), d.Run, []machines.Machine{one}, nil), "have no OS_PASSWORD", "")
	d.Credentials["OS_AUTH_URL"], d.Credentials["OS_PASSWORD"] = "http://127.0.0.1:9/", "word"
	if err := showMachines(t.Context(), d.Run, []machines.Machine{one}, nil); err == nil {
		t.Error("servers were shown")
	}
}

// Without the states, no server is known. None is stopped while somebody works on the hosts, or on the nodes.
func TestServersUnknown(t *testing.T) {
	for _, command := range []run.Command{Start(), Stop(), Status()} {
		t.Run(command.Name, func(t *testing.T) {
			testkit.WithoutTofu(t)
			d := testkit.New(t)
			d.WithCode("")
			must.NotStarted(t, command.Run(t.Context(), d.Opened()), "init")
		})
	}
	d := testkit.New(t)
	d.Repository = t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(d.Repository, "environments/test"), 0o755))
	d.Key = hold.Nodes(d.Run).Key
	d.Other(journal.Header{ID: "you", Stage: "cluster-apply"})
	must.Do(t, stop(t.Context(), d.Run, nil, nil, ""))
	must.Do(t, os.WriteFile(filepath.Join(d.Repository, "environments/test/cluster.yaml"), nil, 0o600))
	must.Refuse(t, stop(t.Context(), d.Run, nil, nil, ""), "the nodes of test are in use by run you (cluster-apply", "dagger call unlock --env=test")
}

// Databases are shown as OVH has them.
func TestShowDatabases(t *testing.T) {
	d := testkit.New(t)
	d.WithOVH()
	one := machines.Machine{Address: "a.data", ID: "old", Name: "data", Project: "p", Engine: "postgresql"}
	must.Do(t, showMachines(t.Context(), d.Run, nil, []machines.Machine{one}))
	d.Says("data  ready            a.data\n")
	d.Credentials["OVH_ENDPOINT"] = "http://127.0.0.1:9"
	must.Fail(t, showMachines(t.Context(), d.Run, nil, []machines.Machine{one}), "query database old")
}
