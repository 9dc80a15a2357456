//go:build blackbox

package main

import (
	"encoding/base64"
	"maps"
	"path/filepath"
	"regexp"
	"testing"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit/kubernetes"
)

// kubernetesPrograms is made by dev/fetch-tools.
const kubernetesPrograms = "../../.slipway/kubernetes"

// A kubernetesHome is a project with a cluster that has the real API server of Kubernetes, and no nodes.
type kubernetesHome struct {
	*project
	server *kubernetes.Server
	admin  *kubernetes.Administrator
}

func newKubernetesHome(t *testing.T) *kubernetesHome {
	t.Helper()
	h := &kubernetesHome{project: newProject(t, "")}
	h.endpoint("https://127.0.0.1:1")
	h.run("bootstrap").must(t, run.Done)
	made := h.run("cluster-secrets").must(t, run.Done)
	h.write(sealedMachines, readFile(t, filepath.Join(made.out, "changed", sealedMachines)))
	pair := machineSecrets(h.project).Certs.K8s
	authority := kubernetes.Authority{Certificate: pair.Crt, Key: pair.Key}
	h.server = kubernetes.Start(t, kubernetesPrograms, authority)
	h.admin = h.server.Administrator(t, authority)
	h.endpoint(h.server.URL)
	return h
}

// endpoint writes the cluster with this URL of its API.
func (h *kubernetesHome) endpoint(url string) {
	h.write("environments/test/cluster.yaml", "name: home\ntalos: v1.14.1\nkubernetes: v1.37.1\nendpoint: "+url+"\n"+
		"controlPlanes: {disk: /dev/sda}\nnodes: [{name: a, address: 127.0.0.1, role: controlplane}]\n")
}

// What the objects of Flux say of themselves is shown, without what controllers quote of secrets.
func TestBlackBoxFluxStatus(t *testing.T) {
	h := newKubernetesHome(t)
	h.run("flux-status").must(t, run.Done).says(t, "home has no objects of Flux")
	h.admin.ApplyFile(t, kubernetesPrograms+"/gotk-components.yaml", "Namespace", "CustomResourceDefinition")
	h.run("flux-status").must(t, run.Done).says(t, "home has no objects of Flux")

	h.admin.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: app, namespace: default}, stringData: {password: canary-in-the-cluster}}")
	const (
		source  = "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: app, namespace: flux-system}, "
		apps    = "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps, namespace: flux-system}, "
		release = "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web, namespace: default}, "
	)
	h.admin.Apply(t, source+"spec: {interval: 1m, url: https://git.example.org/app.git, ref: {branch: main}}}")
	h.admin.Apply(t, apps+"spec: {interval: 1m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: app}}}")
	h.admin.Apply(t, release+"spec: {interval: 1m, suspend: true, chart: {spec: {chart: ./web, sourceRef: {kind: GitRepository, name: app, namespace: flux-system}}}}}")
	condition := func(status, reason, message string) string {
		return "conditions: [{type: Ready, status: \"" + status + "\", reason: " + reason + ", message: \"" + message + "\", lastTransitionTime: \"2026-11-01T02:03:04Z\"}]"
	}
	h.admin.SetStatus(t, source+"status: {observedGeneration: 1, artifact: {revision: \"main@sha1:4b825dc6\", digest: \"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\", path: app.tar.gz, url: http://source-controller/app.tar.gz, lastUpdateTime: \"2026-11-01T02:03:04Z\"}, "+condition("True", "Succeeded", "stored")+"}}")
	h.admin.SetStatus(t, apps+"status: {observedGeneration: 1, lastAppliedRevision: \"main@sha1:00000000\", "+condition("False", "BuildFailed", `Secret/app: \"canary-in-the-cluster\" is not\n  a number`)+"}}")

	e := h.run("flux-status").must(t, run.Done)
	for _, want := range []string{
		`(?m)^KIND +NAME +REVISION +READY +SUSPENDED +SINCE +REASON
Kustomization +flux-system/apps +main@sha1:00000000 +no +no +\d+d +BuildFailed: Secret/app: "\*\*\*" is not a number
HelmRelease +default/web +- +waiting +yes +- +NotReconciled
GitRepository +flux-system/app +main@sha1:4b825dc6 +yes +no +\d+d +Succeeded

home: 1 ready, 1 not ready, 1 waiting, 1 suspended$`,
	} {
		if !regexp.MustCompile(want).MatchString(e.stdout) {
			t.Errorf("it says\n%s", e.stdout)
		}
	}
	if found := leaked(e.left(t), map[string]string{"a Secret in the cluster": "canary-in-the-cluster"}); len(found) > 0 {
		t.Errorf("it leaks %q", found)
	}

	h.endpoint("https://127.0.0.1:1")
	h.run("flux-status").must(t, run.Failed).says(t, "home at https://127.0.0.1:1: the Kubernetes API does not answer: ", "hint: dagger call cluster health --env=test")
}

// Flux is installed as flux.yaml says: what would fail later is refused, and what is there is left alone.
func TestBlackBoxFluxInstall(t *testing.T) {
	h := newKubernetesHome(t)
	h.run("flux-install").must(t, run.BadInput).says(t, "environment test has no Flux: there is no environments/test/flux.yaml", "hint: $EDITOR environments/test/flux.yaml")
	decrypts, err := age.GenerateX25519Identity()
	must.Do(t, err)
	const canary = "canary-of-the-storage"
	settings := "manifests: " + kubernetes.PushManifests(t, kubernetesPrograms+"/gotk-components.yaml") + `
insecure: true
components: [source-controller, kustomize-controller, helm-controller]
git: {url: "https://git.example.org/fleet.git", branch: main, token: FLUX_TOKEN}
path: clusters/home
decryption: FLUX_AGE_KEY
secrets: [{name: truenas-api, namespace: storage, values: [{key: api-key, from: STORAGE_KEY}]}]
`
	h.write("environments/test/flux.yaml", settings)
	h.run("flux-install").must(t, run.BadInput).says(t, "environments/test/flux.yaml names FLUX_TOKEN, which the credentials of test do not have",
		"hint: dagger call secrets set --file=credentials/test.enc.env --variable=FLUX_TOKEN --value=env://VALUE")
	h.secret["FLUX_TOKEN"], h.secret["STORAGE_KEY"], h.secret["FLUX_AGE_KEY"] = "canary-of-the-git-token", canary, "no key"
	h.seal()
	h.run("flux-install").must(t, run.BadInput).says(t, "FLUX_AGE_KEY, with which Flux decrypts, is not usable: it is not an age identity")
	h.secret["FLUX_AGE_KEY"] = decrypts.String()
	h.seal()
	sealed, err := secrets.SealDocument("clusters/home/secret.yaml", []byte("stringData: {a: b}\n"), []string{h.key.Recipient().String()})
	must.Do(t, err)
	h.write("clusters/home/secret.yaml", string(sealed))
	h.run("flux-install").must(t, run.BadInput).says(t, "clusters/home/secret.yaml is encrypted to "+h.key.Recipient().String()+", and FLUX_AGE_KEY, with which Flux decrypts, is "+decrypts.Recipient().String(),
		"hint: sops updatekeys clusters/home/secret.yaml   # after the key was added to .sops.yaml")
	sealed, err = secrets.SealDocument("clusters/home/secret.yaml", []byte("stringData: {a: b}\n"), []string{decrypts.Recipient().String()})
	must.Do(t, err)
	h.write("clusters/home/secret.yaml", string(sealed))

	h.write("environments/test/flux.yaml", regexp.MustCompile("127.0.0.1:[0-9]+").ReplaceAllString(settings, "127.0.0.1:1"))
	h.run("flux-install").must(t, run.Failed).says(t, "the manifests of Flux cannot be read from 127.0.0.1:1/fluxcd/flux-manifests:v2.9.5@sha256:", "hint: $EDITOR environments/test/flux.yaml   # manifests:")
	h.write("environments/test/flux.yaml", regexp.MustCompile("@sha256:....").ReplaceAllString(settings, "@sha256:0000"))
	h.run("flux-install").must(t, run.Failed).says(t, "the manifests of Flux cannot be read from ")
	h.write("environments/test/flux.yaml", settings)

	h.admin.Reconcile(t)
	first := h.run("flux-install").must(t, run.Done).says(t, "home: Flux v2.9.5, 31 created, 0 changed")
	h.run("flux-install").must(t, run.Done).says(t, "home: Flux v2.9.5, nothing to do")
	h.run("flux-status").must(t, run.Done).says(t, "home: 2 ready, 0 not ready, 0 waiting, 0 suspended")
	if found := leaked(first.left(t), map[string]string{"the token": "canary-of-the-git-token", "of a Secret": canary, "the age key": decrypts.String()}); len(found) > 0 {
		t.Errorf("it leaks %q", found)
	}
	made := map[string]string{}
	for _, o := range h.admin.Objects(t, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}) {
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		for key, value := range data {
			plain, err := base64.StdEncoding.DecodeString(value)
			must.Do(t, err)
			made[o.GetNamespace()+"/"+o.GetName()+"/"+key] = string(plain)
		}
	}
	want := map[string]string{
		"flux-system/sops-age/age.agekey": decrypts.String(), "flux-system/flux-system/username": "git", "flux-system/flux-system/password": "canary-of-the-git-token",
		"storage/truenas-api/api-key": canary,
	}
	if !maps.Equal(made, want) {
		t.Errorf("the Secrets are %q", made)
	}

	object := func(name string) func(*call) { return func(o *call) { o.add("--object=" + name) } }
	const kustomization = "Kustomization/flux-system/flux-system"
	h.run("flux-reconcile", object("Kustomization")).must(t, run.BadInput).says(t, `--object is "Kustomization", not KIND/NAMESPACE/NAME`, "hint: dagger call flux status --env=test")
	h.run("flux-reconcile", object("Kustomization/flux-system/none")).must(t, run.BadInput).says(t, "home has no object of Flux Kustomization/flux-system/none")
	h.run("flux-reconcile", object(kustomization)).must(t, run.Done).says(t, "waiting: GitRepository/flux-system/flux-system\n", "waiting: Kustomization/flux-system/flux-system\n", "Kustomization/flux-system/flux-system: ready at ")
	h.run("flux-resume", object(kustomization)).must(t, run.Done).says(t, kustomization+": nothing to do")
	h.run("flux-suspend", object(kustomization)).must(t, run.Done).says(t, kustomization+": suspended")
	h.run("flux-suspend", object(kustomization)).must(t, run.Done).says(t, kustomization+": nothing to do")
	h.run("flux-reconcile", object(kustomization)).must(t, run.BadInput).says(t, kustomization+" is suspended", "hint: dagger call flux resume --env=test --object="+kustomization)
	h.run("flux-install").must(t, run.BadInput).says(t, kustomization+" is suspended", "hint: dagger call flux resume --env=test --object="+kustomization)
	h.run("flux-status").must(t, run.Done).says(t, "home: 2 ready, 0 not ready, 0 waiting, 1 suspended")
	h.run("flux-resume", object(kustomization)).must(t, run.Done).says(t, kustomization+": ready at ")

	// Another manager's field is not taken from it.
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: helm-controller, namespace: flux-system}, spec: {replicas: 2}}"
	h.admin.Apply(t, deployment)
	h.run("flux-install").must(t, run.BadInput).says(t, "Deployment/flux-system/helm-controller has fields that others manage: .spec.replicas of test",
		"hint: dagger call cluster kubectl --env=test --args=get,Deployment,helm-controller,-n,flux-system,-oyaml,--show-managed-fields")
}
