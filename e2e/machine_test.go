//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopherstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/ovh/go-ovh/ovh"
	"golang.org/x/crypto/ssh"

	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// A machine is the server of environment local, reached by SSH at a port of this machine. What the
// server reaches, the test does through it.
type machine struct {
	port, https string     // of this machine, for SSH and HTTPS
	key         ssh.Signer // the administrator's, and the host's
	*ssh.Client
}

// openMachine calls `open` until the test ends, or until stop is called.
func (c *checkout) openMachine(t *testing.T) (m *machine, stop func()) {
	t.Helper()
	key, err := ssh.ParsePrivateKey([]byte(c.host))
	if err != nil {
		t.Fatal(err)
	}
	m = &machine{port: strconv.Itoa(freePort(t)), https: strconv.Itoa(freePort(t)), key: key}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "dagger", append(c.args(t), "open", "--env=local", "up", "--ports="+m.port+":22", "--ports="+m.https+":443")...)
	cmd.Dir = c.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	cmd.Stderr = &log
	testkit.Start(t, cmd)
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(colors.ReplaceAllString(log.String(), ""))
		}
	}
	t.Cleanup(stop)
	m.connect(t)
	m.run(t, "timeout 300 sh -c 'until [ -e /var/lib/cloud/instance/boot-finished-slipway ]; do sleep 0.2; done'")
	return m, stop
}

// connect logs in as soon as the server accepts our key.
func (m *machine) connect(t *testing.T) {
	t.Helper()
	config := &ssh.ClientConfig{
		User: "debian", Auth: []ssh.AuthMethod{ssh.PublicKeys(m.key)}, HostKeyCallback: ssh.FixedHostKey(m.key.PublicKey()), Timeout: 5 * time.Second,
	}
	soon.Wait(t, "the server accepts our key", func() (accepted bool) {
		client, err := ssh.Dial("tcp", "127.0.0.1:"+m.port, config)
		if err == nil {
			m.Client = client
		}
		return err == nil
	})
}

// run runs a script on the server and returns what it says.
func (m *machine) run(t *testing.T, script string) string {
	t.Helper()
	session, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	out, err := session.CombinedOutput(script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// transport sends requests by way of the server.
func (m *machine) transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:     func(_ context.Context, network, address string) (net.Conn, error) { return m.Dial(network, address) },
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}
}

// page is what https://local.example.org/ answers on this machine's own port, as in the command that
// `make up` prints. Its certificate must be one of the simulated authority.
func (m *machine) page(t *testing.T) string {
	t.Helper()
	response, err := (&http.Client{Transport: m.transport(nil)}).Get("http://cloudsim:9000/-/acme/roots")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatalf("the authority's roots: %s, %v\n%s", response.Status, err, text)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+m.https)
		},
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}}
	soon.Wait(t, "https://local.example.org/ answers, on a server that has just booted", func() bool {
		response, err := client.Get("https://local.example.org/")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		text, err = io.ReadAll(response.Body)
		return err == nil && response.StatusCode == http.StatusOK
	})
	return string(text)
}

// logIn begins to log in to a database and returns what it answers: how it wants to check the
// password, or why it refuses us.
//
// https://www.postgresql.org/docs/17/protocol-flow.html
func (m *machine) logIn(domain, port, ca string) (string, error) {
	connection, err := m.Dial("tcp", net.JoinHostPort(domain, port))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if _, err := connection.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // TLS, please
		return "", err
	}
	yes := make([]byte, 1)
	if _, err := io.ReadFull(connection, yes); err != nil || yes[0] != 'S' {
		return "", errors.Join(err, errors.New("it has no TLS"))
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	encrypted := tls.Client(connection, &tls.Config{RootCAs: roots, ServerName: domain})
	text := "user\x00avnadmin\x00database\x00app\x00\x00"
	message := binary.BigEndian.AppendUint32(nil, uint32(8+len(text)))
	message = append(binary.BigEndian.AppendUint32(message, 3<<16), text...)
	if _, err := encrypted.Write(message); err != nil {
		return "", err
	}
	head := make([]byte, 5)
	if _, err := io.ReadFull(encrypted, head); err != nil {
		return "", err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err = io.ReadFull(encrypted, body)
	return string(body), err
}

// TestMachine inspects the real parts behind environment local from its server: the database, names,
// the ACME server, the registry for Docker, and what a power cut leaves.
func TestMachine(t *testing.T) {
	testkit.Deep(t, "it drives a whole system")
	image := pinnedOnlyHere(t, "CADDY")
	c := newCheckout(t)
	c.call(t, "open", "--env=prod", "up").refuses(t, "the servers of environment prod are not simulated", "hint: dagger call output --env=prod")
	c.call(t, "bootstrap", "--env=local").must(t)
	c.call(t, "apply", "--env=local").must(t)
	m, stop := c.openMachine(t)

	// The database, through the API that says where it is, and who may come in.
	api, err := ovh.NewClient("http://cloudsim:9000/-/ovh", "key", "cloudsim-application-secret", "consumer")
	if err != nil {
		t.Fatal(err)
	}
	api.Client = &http.Client{Transport: m.transport(nil)}
	stack := m.openstack(t)
	var ids []string
	project := "/cloud/project/" + stack.project + "/database/postgresql"
	if err := api.Get(project, &ids); err != nil || len(ids) != 1 {
		t.Fatalf("%q, %v", ids, err)
	}
	cluster := project + "/" + ids[0]
	var service struct {
		Endpoints []struct {
			Domain string
			Port   int
		}
	}
	var certificates struct{ CA string }
	if err := errors.Join(api.Get(cluster, &service), api.Get(cluster+"/certificates", &certificates)); err != nil {
		t.Fatal(err)
	}
	at := service.Endpoints[0]
	logIn := func(want string) {
		t.Helper()
		soon.Wait(t, "the database answers "+want, func() bool {
			got, err := m.logIn(at.Domain, strconv.Itoa(at.Port), certificates.CA)
			return err == nil && strings.Contains(got, want)
		})
	}
	logIn("SCRAM-SHA-256")
	restriction := cluster + "/ipRestriction/" + url.PathEscape("10.1.0.0/24")
	if err := api.Delete(restriction, nil); err != nil {
		t.Fatal(err)
	}
	logIn(`no pg_hba.conf entry for host "10.1.0.`) // the server's address in its network, not the machine's

	// The ACME server, by its name and with the root that is in the repository.
	root, err := os.ReadFile(filepath.Join(repository, "ansible/group_vars/local/acme-root.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(root)
	response, err := (&http.Client{Transport: m.transport(roots), Timeout: time.Minute}).Get("https://acme.cloudsim.test:14000/dir")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the ACME server: %s", response.Status)
	}

	// Docker pulls by the mirror; its containers find names, and come back after a power cut.
	m.run(t, `sudo sh -euc '
mkdir -p /etc/docker
echo "{\"registry-mirrors\": [\"http://registry:5000\"]}" >/etc/docker/daemon.json
systemctl restart docker
[ "$(docker info --format "{{.Driver}}")" = overlay2 ]
docker run --detach --name web --restart unless-stopped --publish 80:80 `+image+`
docker exec web getent hosts acme.cloudsim.test local.example.org
echo kept >/srv/kept; touch /run/gone; sync'`)
	before := m.run(t, "cat /proc/sys/kernel/random/boot_id; getent hosts local.example.org | cut -d' ' -f1")
	if own := m.run(t, "hostname -I"); !strings.Contains(own, before[strings.LastIndex(before, "\n")+1:]) {
		t.Errorf("local.example.org leads to %q, and the server is %q", before, own)
	}
	// The answer comes through the server itself, and can be lost with it.
	err = servers.Reboot(t.Context(), stack.compute, stack.server, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr()
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	_ = m.Wait() // until the connection is gone
	m.connect(t)
	m.run(t, `timeout 600 sh -c 'until [ "$(sudo docker inspect --format "{{.State.Running}}" web)" = true ]; do sleep 0.1; done'`)
	m.run(t, "[ $(cat /srv/kept) = kept ] && [ ! -e /run/gone ]")

	// A server that switches itself off stays off.
	if session, err := m.NewSession(); err == nil {
		_ = session.Run("sudo systemctl poweroff --force --force")
	}
	_ = m.Wait()
	time.Sleep(2 * time.Second) //nolint:forbidigo // there is no event: in this time it would boot
	stop()
	c.call(t, "status", "--env=local").must(t).says(t, "local-backend     shutoff")
}

// pinnedOnlyHere is the reference, with its digest, of an image that only a machine without a
// registry has.
func pinnedOnlyHere(t *testing.T, name string) string {
	t.Helper()
	needOwnEngine(t)
	reference, digest, _ := strings.Cut(pinned(t, name), "@")
	return reference[:strings.LastIndex(reference, ":")] + "@" + digest
}

// A stack is OpenStack's API and the only server there.
type stack struct {
	compute         *gophercloud.ServiceClient
	project, server string
}

func (m *machine) openstack(t *testing.T) stack {
	t.Helper()
	provider, err := gopherstack.NewClient("http://cloudsim:9000/-/openstack/identity/v3/")
	if err != nil {
		t.Fatal(err)
	}
	provider.HTTPClient = http.Client{Transport: m.transport(nil)}
	if err := gopherstack.Authenticate(t.Context(), provider, gophercloud.AuthOptions{
		IdentityEndpoint: "http://cloudsim:9000/-/openstack/identity/v3/", Username: "operator", Password: "any", TenantName: "slipway", DomainName: "Default",
	}); err != nil {
		t.Fatal(err)
	}
	compute, err := gopherstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: "sim1"})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := servers.List(compute, servers.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := servers.ExtractServers(pages)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d servers, %v", len(list), err)
	}
	return stack{compute, list[0].TenantID, list[0].ID}
}
