package machine

import (
	"net/netip"
	"testing"
)

// What the server itself has written stays, and nothing of an earlier boot does.
func TestHosts(t *testing.T) {
	gateway := netip.MustParseAddr("10.87.0.1")
	const container = "127.0.0.1\tlocalhost dagger\n::1 localhost\n\n10.87.0.5\tcloudsim\n"
	const want = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n" +
		"127.0.1.1 web # cloudsim\n10.87.0.1 registry # cloudsim\n10.87.0.5 cloudsim # cloudsim\n"
	got := hosts("", container, "web", gateway)
	if got != want {
		t.Errorf("at first:\n%s", got)
	}
	got = hosts(got+"192.0.2.1 own", "10.87.0.6 cloudsim\n", "web", gateway)
	if got != "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n192.0.2.1 own\n"+
		"127.0.1.1 web # cloudsim\n10.87.0.1 registry # cloudsim\n10.87.0.6 cloudsim # cloudsim\n" {
		t.Errorf("later:\n%s", got)
	}
}

func TestResolvConf(t *testing.T) {
	got := resolvConf("nameserver 10.87.0.1\nsearch x.dagger.local\noptions ndots:1\n", "10.87.0.9")
	if got != "nameserver 10.87.0.9\nsearch x.dagger.local\noptions ndots:1\n" {
		t.Error(got)
	}
}

func TestDefaultGateway(t *testing.T) {
	const head = "Iface\tDestination\tGateway\tFlags\n"
	got, err := defaultGateway(head + "eth0\t0000570A\t00000000\t0001\neth0\t00000000\t0100570A\t0003\n")
	if err != nil || got.String() != "10.87.0.1" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := defaultGateway(head); err == nil {
		t.Errorf("without a route: %s", got)
	}
}
