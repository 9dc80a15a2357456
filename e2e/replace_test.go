//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// A kubernetes is a client of the API servers of a cluster, which goes on with another one if one fails.
type kubernetes struct {
	client  *http.Client
	servers []string // URLs
	next    int
}

// newKubernetes makes a client with the login in a kubeconfig, in the network of the nodes.
func newKubernetes(t *testing.T, kubeconfig string, addresses ...string) *kubernetes {
	t.Helper()
	var config struct {
		Clusters []struct {
			Cluster struct {
				Authority string `yaml:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate string `yaml:"client-certificate-data"`
				Key         string `yaml:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(kubeconfig), &config); err != nil {
		t.Fatal(err)
	}
	decoded := func(text string) []byte {
		t.Helper()
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	own, err := tls.X509KeyPair(decoded(config.Users[0].User.Certificate), decoded(config.Users[0].User.Key))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(decoded(config.Clusters[0].Cluster.Authority))
	network := engineNetwork(t)
	k := &kubernetes{client: &http.Client{Timeout: time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}},
		DialContext: func(ctx context.Context, kind, address string) (conn net.Conn, err error) {
			err = within(network, func() (err error) {
				conn, err = new(net.Dialer).DialContext(ctx, kind, address)
				return err
			})
			return conn, err
		},
	}}}
	t.Cleanup(k.client.CloseIdleConnections)
	for _, address := range addresses {
		k.servers = append(k.servers, "https://"+address+":6443")
	}
	return k
}

// do makes a request of one server after the other, until one answers with this status.
func (k *kubernetes) do(ctx context.Context, want int, method, path string, body []byte) ([]byte, error) {
	var last error
	for range k.servers {
		request, err := http.NewRequestWithContext(ctx, method, k.servers[k.next]+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := k.client.Do(request)
		if err == nil {
			var data []byte
			data, err = io.ReadAll(response.Body)
			response.Body.Close()
			// A write whose answer was lost is not acknowledged, and may be there.
			if response.StatusCode == want || method == http.MethodPost && response.StatusCode == http.StatusConflict {
				return data, err
			}
			err = fmt.Errorf("%s %s: %s", method, path, response.Status)
		}
		last = err
		k.next = (k.next + 1) % len(k.servers)
	}
	return nil, last
}

// A watch counts what succeeds, and remembers the longest time without success.
type watch struct {
	name    string
	done    []string
	longest time.Duration
}

// repeat calls try with one name after the other until ctx ends.
func (w *watch) repeat(ctx context.Context, try func(name string) error) {
	last := time.Now()
	for i := 0; ctx.Err() == nil; {
		name := fmt.Sprintf("%s-%d", w.name, i)
		if try(name) == nil {
			now := time.Now()
			w.longest, last = max(w.longest, now.Sub(last)), now
			w.done = append(w.done, name)
			i++
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond): //nolint:forbidigo // a steady load
		}
	}
}

// One of three control planes, the leader of etcd, loses its power and its disk, while somebody writes. A plan and an apply
// replace it, and nothing that was acknowledged is lost.
func TestControlPlaneReplaced(t *testing.T) {
	testkit.Deep(t, "it boots three real Talos nodes with Kubernetes")
	all := map[string]string{"cp-1": "198.18.87.11", "cp-2": "198.18.87.12", "cp-3": "198.18.87.13"}
	needNodes(t, "cp-1", "cp-2", "cp-3")
	c := newClusterCheckout(t)
	const env = "cluster-local"
	file := filepath.Join(c.dir, "environments", env, "cluster.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "  - {name: worker-1")
	if !found {
		t.Fatalf("it has no worker-1:\n%s", text)
	}
	c.file(t, file, before+"  - {name: cp-2, address: 198.18.87.12, role: controlplane}\n  - {name: cp-3, address: 198.18.87.13, role: controlplane}\n")
	t.Log(c.call(t, "up", "--env="+env).must(t).says(t, "health     3 ready").stdout)

	kubeconfig := c.call(t, "cluster", "kubeconfig", "--env="+env, "plaintext").must(t).stdout
	client := func() *kubernetes {
		t.Helper()
		return newKubernetes(t, kubeconfig, all["cp-1"], all["cp-2"], all["cp-3"])
	}
	const configmaps = "/api/v1/namespaces/default/configmaps"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	writes, ready := &watch{name: "write"}, &watch{name: "ready"}
	writer, prober := client(), client()
	var busy sync.WaitGroup
	busy.Go(func() {
		writes.repeat(ctx, func(name string) error {
			_, err := writer.do(ctx, http.StatusCreated, http.MethodPost, configmaps, []byte(`{"metadata": {"name": "`+name+`"}}`))
			return err
		})
	})
	busy.Go(func() {
		ready.repeat(ctx, func(string) error {
			_, err := prober.do(ctx, http.StatusOK, http.MethodGet, "/readyz", nil)
			return err
		})
	})

	// state returns the row of a node in which it says of itself all of these words.
	state := func(words ...string) string {
		t.Helper()
		for line := range strings.Lines(c.call(t, "cluster", "status", "--env="+env).must(t).stdout) {
			name, _, _ := strings.Cut(line, " ")
			if all[name] != "" && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				return name
			}
		}
		return ""
	}
	leader := state("leader")
	if leader == "cp-1" { // the endpoint is its address, by which a new node finds the others
		c.call(t, "cluster", "talosctl", "--env="+env, "--args=-n,cp-1,etcd,forfeit-leadership").must(t)
		leader = state("leader")
	}
	if leader == "" || leader == "cp-1" {
		t.Fatalf("the leader of etcd is %q", leader)
	}
	node(t, "wipe", leader).must(t)
	c.call(t, "plan", "--env="+env).must(t).says(t, "No changes. ", "warning: "+leader+" could not be asked")
	node(t, "on", leader).must(t)
	soon.Wait(t, leader+" answers", func() bool { return state(leader+" ", "maintenance") != "" })
	c.call(t, "plan", "--env="+env).must(t).says(t, "Plan: 1 to create", leader)
	c.call(t, "apply", "--env="+env).must(t).says(t, leader+": configured")
	t.Log(c.call(t, "up", "--env="+env).must(t).says(t, "health     3 ready").stdout)
	stop()
	busy.Wait()

	data, err := client().do(t.Context(), http.StatusOK, http.MethodGet, configmaps, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, item := range list.Items {
		there[item.Metadata.Name] = true
	}
	for _, name := range writes.done {
		if !there[name] {
			t.Errorf("%s was acknowledged, and is lost", name)
		}
	}
	if len(writes.done) < 100 {
		t.Errorf("only %d writes were acknowledged", len(writes.done))
	}
	t.Logf("%s was replaced; %d writes, %.1f s without one at most; %d times ready, %.1f s without at most", leader, len(writes.done), writes.longest.Seconds(), len(ready.done), ready.longest.Seconds())
	c.call(t, "cluster", "health", "--env="+env).must(t)
}
