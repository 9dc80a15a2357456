//go:build blackbox

package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	talosx509 "github.com/siderolabs/crypto/x509"

	"slipway/internal/inventory"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/testkit/bastion"
	"slipway/internal/testkit/soon"
)

// A toolbox has programs for the runner: scripts that stand in for kubectl, talosctl and helm, or the real ones.
type toolbox struct {
	bin  string
	left string // a folder to which the scripts may write, in $LEFT
}

func newToolbox(t *testing.T, script string) toolbox {
	t.Helper()
	b := toolbox{testkit.ForTools(t), testkit.ForTools(t)}
	for _, name := range []string{"kubectl", "talosctl", "helm"} {
		must.Do(t, os.WriteFile(filepath.Join(b.bin, name), []byte("#!/bin/bash\nLEFT="+b.left+"\n"+script+"\n"), 0o755))
	}
	return b
}

// has reports whether a script has left a file.
func (b toolbox) has(name string) bool {
	_, err := os.Stat(filepath.Join(b.left, name))
	return err == nil
}

// use runs a tool, by a runner in another process whose PATH has the box.
func (h *home) use(b toolbox, tool string, args ...string) ended {
	h.t.Helper()
	o := h.options("cluster-" + tool)
	o.Args = args
	cmd := h.program(o)
	cmd.Env = append(cmd.Env, "PATH="+b.bin+":"+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	e := ended{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String(), out: o.Out}
	must.Do(h.t, json.Unmarshal([]byte(readFile(h.t, filepath.Join(o.Out, "result.json"))), &e.result))
	if files, err := filepath.Glob(filepath.Join(o.Work, "login*")); err != nil || len(files) > 0 {
		h.t.Errorf("%s leaves %q in the work folder: %v", tool, files, err)
	}
	return e
}

// withLogin adds the secrets in a kubeconfig or talosconfig to canaries.
func withLogin(t *testing.T, canaries map[string]string, login string) map[string]string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ +(key|client-key-data): (\S+)$`).FindStringSubmatch(login)
	if found == nil {
		t.Fatal("there is no key in the login")
	}
	key, err := base64.StdEncoding.DecodeString(found[2])
	must.Do(t, err)
	all := map[string]string{"the key of the login": string(key)}
	for name, value := range canaries {
		all[name] = value
	}
	return all
}

// Each tool prints its login, and all that it can see: nobody else sees a key. One that changes something keeps others
// from the nodes, under its name alone.
func TestBlackBoxClusterTools(t *testing.T) {
	h := newHome(t, 3)
	canaries := clusterCanaries(h.project)
	b := newToolbox(t, `login=$KUBECONFIG$TALOSCONFIG
cat "$login" >$LEFT/$(basename $0)
echo "arguments: $*"; cat "$login"; base64 -w0 "$login"; env; cat "$login" >&2
cat /proc/$PPID/environ `+h.identity+` `+h.dir+`/credentials/* 2>/dev/null
if [ "$1" = delete ]; then touch $LEFT/began; while [ ! -e $LEFT/go ]; do sleep 0.02; done; fi
if [ "$1" = nothing ]; then echo "Error: nothing of the kind" >&2; exit 3; fi`)
	look := func(tool string, e ended) {
		t.Helper()
		all := withLogin(t, canaries, readFile(t, filepath.Join(b.left, tool)))
		if found := leaked(e.left(t), all); len(found) > 0 {
			t.Errorf("%s leaks %q:\n%s%s", tool, found, e.stdout, e.stderr)
		}
	}
	for tool, args := range map[string]string{"kubectl": "get pods -A", "talosctl": "-n node-1 version", "helm": "list -A"} {
		e := h.use(b, tool, strings.Fields(args)...).must(t, run.Done).says(t, "arguments: "+strings.Replace(args, "node-1", h.Addresses[1], 1)+"\n")
		look(tool, e)
	}
	e := h.use(b, "kubectl", "nothing").must(t, run.Failed).says(t, "kubectl nothing ended with exit code 3", "Error: nothing of the kind", "hint: dagger call cluster status --env=test")
	look("kubectl", e)
	h.use(b, "kubectl", "get", "--server=https://other").must(t, run.BadInput).says(t, "--server selects another cluster")

	var deleting sync.WaitGroup
	deleting.Go(func() {
		look("kubectl", h.use(b, "kubectl", "delete", "pod", "canary-of-the-arguments").must(t, run.Done))
	})
	soon.Wait(t, "kubectl works", func() bool { return b.has("began") })
	h.run("apply", ofCluster).must(t, run.BadInput).says(t, "(cluster-kubectl, started ", " is alive")
	h.run("unlock").must(t, run.BadInput).says(t, "(cluster-kubectl, started ", " is alive")
	objects, err := h.bucket().List(t.Context(), "journal/")
	must.Do(t, err)
	seen := ""
	for _, o := range objects {
		if data := h.get(o.Key); strings.HasSuffix(o.Key, ".age") {
			data, err := h.reader().Open(data)
			must.Do(t, err)
			seen += string(data)
		}
	}
	if !strings.Contains(seen, `"action":"kubectl delete"`) || strings.Contains(seen, "canary") {
		t.Errorf("the journal has %s", seen)
	}
	must.Do(t, os.WriteFile(filepath.Join(b.left, "go"), nil, 0o600))
	deleting.Wait()
	h.stage("apply", canaries).must(t, run.Done)
}

// behindGate is a home whose machines are behind a bastion.
func behindGate(t *testing.T) *home {
	t.Helper()
	h, gate := newHome(t, 3), bastion.New(t)
	settings := readFile(t, filepath.Join(h.dir, "environments/test/environment.yaml"))
	h.write("environments/test/main.tf", fmt.Sprintf("terraform {\n  backend \"s3\" {}\n}\noutput %q {\n  value = jsondecode(%q)\n}\n", inventory.HostsOutput, gate.Outputs(t)[inventory.HostsOutput].Value))
	h.run("apply", func(o *call) { o.OnlyLayer = "test" }).must(t, run.Done) // while there is no key with which it would wait for the host
	h.secret["SSH_PRIVATE_KEY"] = gate.PEM
	h.seal()
	h.write("environments/test/environment.yaml", settings+"ssh: {jump: gate}\n")
	return h
}

// Behind a bastion, a tool gets to the nodes and to the endpoint by a proxy that knows its password, and to nothing else.
func TestBlackBoxClusterToolsBehindBastion(t *testing.T) {
	h := behindGate(t)
	b := newToolbox(t, `cat "$KUBECONFIG" >$LEFT/kubectl
url=$(sed -n 's/^ *proxy-url: //p' "$KUBECONFIG"); address=${url#*@}
user=$(printf %s "${url#http://}" | cut -d@ -f1)
ask() { # USER:PASSWORD TARGET
  exec 3<>/dev/tcp/${address%:*}/${address#*:}
  printf 'CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n' "$2" "$2" "$(printf %s "$1" | base64 -w0)" >&3
  IFS= read -r line <&3; echo "$2: $line"
  exec 3<&-
}
ask "$user" `+h.Addresses[1]+`:50000; ask "$user" `+h.Addresses[1]+`:6443; ask "$user" 127.0.0.1:22; ask slipway:other `+h.Addresses[1]+`:50000; echo "$user"`)
	e := h.use(b, "kubectl", "get", "pods").must(t, run.Done).says(t,
		h.Addresses[1]+":50000: HTTP/1.1 200 Connection established",
		h.Addresses[1]+":6443: HTTP/1.1 502 it cannot be reached from the bastion gate",
		"127.0.0.1:22: HTTP/1.1 403 127.0.0.1:22 is not an address of the cluster",
		h.Addresses[1]+":50000: HTTP/1.1 407 this proxy is for a tool of the run that started it",
		"slipway:***\n")
	login := readFile(t, filepath.Join(b.left, "kubectl"))
	canaries := withLogin(t, clusterCanaries(h.project), login)
	canaries["the password of the proxy"] = regexp.MustCompile(`proxy-url: http://slipway:(\w+)@`).FindStringSubmatch(login)[1]
	if found := leaked(e.left(t), canaries); len(found) > 0 {
		t.Errorf("it leaks %q:\n%s%s", found, e.stdout, e.stderr)
	}
}

// The real kubectl and talosctl accept their logins and go through the proxy: to machines that speak Talos' protocol, and
// to a server in place of Kubernetes.
func TestBlackBoxRealTools(t *testing.T) {
	cache, err := os.UserCacheDir()
	must.Do(t, err)
	b := toolbox{bin: testkit.ForTools(t)}
	for name, product := range map[string]string{"kubectl": "kubernetes-*/kubectl", "talosctl": "talos-talosctl-*/talosctl"} {
		found, err := filepath.Glob(filepath.Join(cache, "slipway/products", product))
		must.Do(t, err)
		if len(found) == 0 {
			t.Skip("NOT RUN: kubectl and talosctl are not built (`make cluster`)")
		}
		must.Do(t, copyProgram(found[0], filepath.Join(b.bin, name)))
	}
	h := behindGate(t)
	h.stage("apply", nil).must(t, run.Done)
	h.serveKubernetes()
	h.use(b, "talosctl", "-n", "node-1", "version").must(t, run.Done).says(t, "NODE:        "+h.Addresses[1], "Tag:         v1.14.1")
	h.use(b, "talosctl", "version").must(t, run.Failed).says(t, "talosctl version ended with exit code 1", "hint: dagger call cluster talosctl --env=test --args=-n,NODE,…   # the nodes are node-0 ("+h.Addresses[0]+"), node-1")
	h.use(b, "kubectl", "get", "--raw", "/healthz").must(t, run.Done).says(t, "admin of system:masters asks for /healthz\n")
	canaries := clusterCanaries(h.project)
	e := h.use(b, "kubectl", "config", "view", "--raw").must(t, run.Done).says(t, "client-key-data: ***\n", "proxy-url: http://slipway:***@127.0.0.1:")
	if found := leaked(e.left(t), canaries); len(found) > 0 {
		t.Errorf("it leaks %q:\n%s", found, e.stdout)
	}
}

// serveKubernetes serves the cluster's endpoint: with a certificate of its authority, and for administrators only.
func (h *home) serveKubernetes() {
	t := h.t
	t.Helper()
	bundle := machineSecrets(h.project)
	authority, err := talosx509.NewCertificateAuthorityFromCertificateAndKey(bundle.Certs.K8s)
	must.Do(t, err)
	own, err := talosx509.NewKeyPair(authority, talosx509.IPAddresses([]net.IP{net.ParseIP(h.Addresses[0])}), talosx509.NotAfter(time.Now().Add(time.Hour)),
		talosx509.ExtKeyUsage([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}))
	must.Do(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle.Certs.K8s.Crt)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		fmt.Fprintf(w, "%s of %s asks for %s\n", subject.CommonName, strings.Join(subject.Organization, ", "), r.URL.Path)
	}))
	must.Do(t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp", h.Addresses[0]+":6443")
	must.Do(t, err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*own.Certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
}
