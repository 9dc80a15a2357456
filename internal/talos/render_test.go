package talos

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/must"
)

var update = flag.Bool("update", false, "write the golden files")

// home is a cluster with every setting.
func home(version string) *cluster.Cluster {
	return &cluster.Cluster{
		Name: "home", Talos: version, Kubernetes: "v1.34.1", Endpoint: "https://10.0.0.10:6443",
		VIP: &cluster.VIP{Address: "10.0.0.10", Link: "eth0"}, Pods: []string{"10.1.0.0/16"}, Services: []string{"10.2.0.0/16"},
		Registries: []cluster.Registry{{Host: "docker.io", Mirrors: []string{"https://mirror.example.org"}}},
	}
}

// bundle makes the secrets of a cluster.
func bundle(t *testing.T, version string) *secrets.Bundle {
	t.Helper()
	contract, err := Contract(version)
	must.Do(t, err)
	b, err := secrets.NewBundle(secrets.NewFixedClock(time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)), contract, secrets.WithECDSAServiceAccountKey())
	must.Do(t, err)
	return b
}

// Each version of Talos gets the documents that it has, and no setting twice. Secrets are replaced in the
// golden files.
func TestRender(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.13.0", "v1.14.1"} {
		for _, n := range []cluster.Node{
			{Name: "a", Address: "10.0.0.11", Role: cluster.ControlPlane, Disk: "/dev/sda"},
			{Name: "w", Address: "10.0.0.21", Role: cluster.Worker, Disk: "/dev/nvme0n1"},
		} {
			t.Run(version+" "+string(n.Role), func(t *testing.T) {
				patch := []byte("apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\ntimeout: 2m\n")
				c, err := Render(home(version), n, bundle(t, version), patch)
				must.Do(t, err)
				warnings, err := c.ValidateAsClient(Metal{})
				if err != nil || len(warnings) > 0 {
					t.Errorf("Talos says %q, %v", warnings, err)
				}
				text, err := c.RedactSecrets("***").EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
				must.Do(t, err)
				golden(t, strings.TrimPrefix(version, "v")+"-"+string(n.Role)+".yaml", random.ReplaceAllString(string(text), "${1}(random)"))
			})
		}
	}
}

// Talos knows that it is installed on a disk, and does not run in a container. What may be a secret is hidden, and nothing else.
func TestRenderIncomplete(t *testing.T) {
	n := cluster.Node{Name: "a", Address: "10.0.0.11", Role: cluster.ControlPlane}
	b := bundle(t, "v1.13.0")
	c, err := Render(home("v1.13.0"), n, b, []byte("machine: {sysctls: {a: shown}, env: {A: canary}}\n"))
	must.Do(t, err)
	_, err = c.ValidateAsClient(Metal{})
	must.Fail(t, err, "install")
	n.Disk = "/dev/sda"
	own, err := Render(home("v1.13.0"), n, b, []byte("machine: {features: {hostDNS: {enabled: false, forwardKubeDNSToHost: false}}}\n"))
	must.Do(t, err)
	_, err = own.ValidateAsClient(Metal{}) // it would need it in a container
	must.Do(t, err)
	hidden, err := Hidden(c)
	must.Do(t, err)
	if !slices.Contains(hidden, "canary") || !slices.Contains(hidden, b.TrustdInfo.Token) || slices.Contains(hidden, "shown") {
		t.Errorf("hidden are %q", hidden)
	}
}

// A cluster that is older than Talos 1.3 keeps its key, and its cipher.
func TestRenderOldKey(t *testing.T) {
	for version, want := range map[string]string{
		"v1.12.4": "\n    aescbcEncryptionSecret: (key)\n",
		"v1.14.1": "\n        - providers:\n            - aescbc:\n                keys:\n                    - name: key1\n                      secret: (key)\n            - identity: {}\n          resources:\n            - secrets\n",
	} {
		b := bundle(t, version)
		key := strings.Repeat("k", 43) + "="
		b.Secrets.AESCBCEncryptionSecret, b.Secrets.SecretboxEncryptionSecret = key, ""
		for _, role := range []cluster.Role{cluster.ControlPlane, cluster.Worker} {
			c, err := Render(home(version), cluster.Node{Name: "a", Address: "10.0.0.11", Role: role, Disk: "/dev/sda"}, b)
			must.Do(t, err)
			if _, err := c.ValidateAsClient(Metal{}); err != nil {
				t.Errorf("Talos says %v", err)
			}
			text, err := c.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
			must.Do(t, err)
			if has := strings.Contains(string(text), strings.ReplaceAll(want, "(key)", key)); has != (role == cluster.ControlPlane) || strings.Contains(string(text), "secretbox") {
				t.Errorf("%s, %s:\n%s", version, role, text)
			}
		}
	}
}

// random matches what is new in each bundle and is no secret: certificates and the cluster's ID.
var random = regexp.MustCompile(`((?:crt|id|clusterID): )[0-9A-Za-z+/=_-]{40,}|((?m)^ *-----BEGIN CERTIFICATE-----\n(?:.*\n)*? *-----END CERTIFICATE-----)`)

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		must.Do(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must.Do(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
