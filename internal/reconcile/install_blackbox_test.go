//go:build blackbox

package reconcile

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/kubeapi"
	"slipway/internal/kubernetes"
	"slipway/internal/must"
	"slipway/internal/testkit"
	server "slipway/internal/testkit/kubernetes"
)

const programs = "../../.slipway/kubernetes"

// What does not get ready is named with its reason, without what controllers quote of Secrets. An API server that goes away in the
// middle, and a call that is stopped, are said too.
func TestBlackBoxNotReady(t *testing.T) {
	authority := server.NewAuthority(t)
	s := server.Start(t, programs, authority)
	admin := s.Administrator(t, authority)
	admin.ApplyFile(t, programs+"/gotk-components.yaml", "Namespace", "CustomResourceDefinition")
	admin.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: app, namespace: default}, stringData: {password: canary-in-the-cluster}}")
	controllers := admin.Reconcile(t)
	controllers.Applied("flux-system_flux-system_kustomize.toolkit.fluxcd.io_Kustomization v1", "default_web_helm.toolkit.fluxcd.io_HelmRelease v2", "default_gone_helm.toolkit.fluxcd.io_HelmRelease v2")
	controllers.Fail("OCIRepository", "failed to pull with canary-in-the-cluster:\n401 Unauthorized")

	desk := testkit.New(t)
	api, err := kubeapi.New(admin.Kubeconfig(t), nil)
	must.Do(t, err)
	i := &Installer{
		Cluster:   &kubernetes.Cluster{Cluster: &clusters.Cluster{Run: desk.Run, Spec: &cluster.Cluster{Name: "home", Endpoint: s.URL}}, API: api},
		settings:  &flux.Settings{OCI: &flux.OCI{URL: "oci://registry.example.org/fleet", Tag: "latest"}, Path: "./", Interval: "1h"},
		manifests: &flux.Manifests{}, counts: map[kubeapi.Action]int{}, patience: Patience{Slow: time.Hour},
	}
	err = i.install(t.Context())
	must.Hint(t, err, "dagger call flux status --env=test")
	must.Fail(t, err, "OCIRepository/flux-system/flux-system is not ready: Failed: failed to pull with ***: 401 Unauthorized")
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("it leaks: %v", err)
	}

	// What the Kustomization has applied is waited for, too; itself only once.
	admin.Apply(t, "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web, namespace: default}, spec: {interval: 1m, chartRef: {kind: OCIRepository, name: web}}}")
	controllers.Fail("HelmRelease", "install failed")
	controllers.Fail("OCIRepository", "")
	i.patience.Broken = time.Hour // until the controller tries again
	must.Do(t, i.await(t.Context(), i.settings.Sync()[0], Ready))
	i.patience.Broken = 0
	must.Fail(t, i.install(t.Context()), "HelmRelease/default/web is not ready: Failed: install failed")
	controllers.Fail("HelmRelease", "")
	i.patience.Broken = time.Hour
	must.Do(t, i.install(t.Context()))

	stopped, stop := context.WithCancel(t.Context())
	if err := Await(stopped, i.Cluster, i.patience, "", i.settings.Sync()[1], func(*unstructured.Unstructured) (string, bool) { stop(); return "never", true }); !fault.Is(err, fault.Interrupted) {
		t.Errorf("got %v", err)
	}
	must.Do(t, s.API.Signal(syscall.SIGKILL))
	_, err = s.API.Wait()
	must.Do(t, err)
	err = i.install(t.Context())
	must.Hint(t, err, "dagger call cluster health --env=test")
	must.Fail(t, err, "home at "+s.URL+": ", "the Kubernetes API does not answer: ")
}
