// Package cluster runs Talos nodes on this machine: real ones, with Kubernetes, in containers beside the engine.
// Neither their programs nor their images can be pulled here, so it makes both out of Go modules and Debian
// packages.
package cluster

import (
	_ "embed"
	"strings"

	"slipway/dev/engine/build"
)

// Versions of what a node consists of: the newest that can be built here.
//
// Talos 1.14.2 is not in the module proxy.
const (
	TalosVersion      = "v1.14.1"
	KubernetesVersion = "v1.37.1"
	etcdVersion       = "v3.7.1"  // that of Talos' constants.DefaultEtcdVersion
	containerdVersion = "v2.3.5"  // that of Talos' go.mod
	coreDNSVersion    = "v1.14.7" // that of Talos' constants.DefaultCoreDNSVersion
	pauseVersion      = "3.10.2"  // that of containerd's
	helmVersion       = "v4.1.4"
)

// The lines that the go.sum of a module lacks when the modules nested in its repository come from the proxy.
var (
	//go:embed talos.sum
	talosSums string
	//go:embed kubernetes.sum
	kubernetesSums string
	//go:embed etcd.sum
	etcdSums string
)

var talosModule = build.GoModule{
	Path:    "github.com/siderolabs/talos",
	Version: TalosVersion,
	Sum:     "h1:hBTn0gwcy0WK6gHsijCtHZCED1BtzA3Wh3w41NL6s3s=",
}

// talosEdits replace what the proxy does not have by the nearest version that it has.
var talosEdits = append(nested(TalosVersion, "github.com/siderolabs/talos/pkg/machinery"),
	"-replace=github.com/cosi-project/runtime=github.com/cosi-project/runtime@v1.16.2",
	"-replace=github.com/mdlayher/ethtool=github.com/siderolabs/ethtool@v0.4.0-sidero",
	"-replace=github.com/jsimonetti/rtnetlink/v2=github.com/jsimonetti/rtnetlink/v2@v2.2.1-0.20260317095713-310581b9c6ac",
	"-dropreplace=github.com/secure-io/siv-go",
)

var (
	// machined is the node's init, and under other names its API.
	machined = build.GoProgram{
		Module:   talosModule,
		Packages: []string{"./internal/app/machined"},
		Tags:     "tcell_minimal,grpcnotrace",
		ModEdits: talosEdits,
		Sums:     lines(talosSums),
		Patches:  append(sameFamilyRoutes, lowerScore),
	}
	talosctl = build.GoProgram{
		Module:   talosModule,
		Packages: []string{"./cmd/talosctl"},
		Tags:     "grpcnotrace",
		ModEdits: talosEdits,
		Sums:     lines(talosSums),
		Patches:  noLabOfTheOtherFamily,
	}
	containerd = build.GoProgram{
		Module: build.GoModule{
			Path:    "github.com/containerd/containerd/v2",
			Version: containerdVersion,
			Sum:     "h1:9MYlI81gUcOZ0WsCkSMtvOU7rTR3hqAoa2eCzhoLlkA=",
		},
		Packages: []string{"./cmd/containerd", "./cmd/containerd-shim-runc-v2"},
		Tags:     "no_btrfs,no_devmapper,no_zfs",
		LDFlags:  "-X github.com/containerd/containerd/v2/version.Version=" + containerdVersion,
	}
	etcd = build.GoProgram{
		Module: build.GoModule{
			Path:    "go.etcd.io/etcd/server/v3",
			Version: etcdVersion,
			Sum:     "h1:USlUEiIw4fE8hXVL4CGTLRucbRjrZhOJilJLleCUpDE=",
		},
		Packages: []string{"."},
		ModEdits: nested(etcdVersion, "go.etcd.io/etcd/api/v3", "go.etcd.io/etcd/client/pkg/v3", "go.etcd.io/etcd/client/v3", "go.etcd.io/etcd/pkg/v3"),
		Sums:     lines(etcdSums),
	}
	helm = build.GoProgram{
		Module: build.GoModule{
			Path:    "helm.sh/helm/v4",
			Version: helmVersion,
			Sum:     "h1:zwTrNkalG4f7SYigRSdQnYrTj0QEz1qzetzAlYoDVSo=",
		},
		Packages: []string{"./cmd/helm"},
		LDFlags:  "-X helm.sh/helm/v4/internal/version.version=" + helmVersion,
	}
	coreDNS = build.GoProgram{
		Module: build.GoModule{
			Path:    "github.com/coredns/coredns",
			Version: coreDNSVersion,
			Sum:     "h1:UPDkn4QN+xyNfjz3U5ldgoLszDYpMZEJoy3+ze9au4Q=",
		},
		Packages: []string{"."},
	}
	kubernetes = build.GoProgram{
		Module: build.GoModule{
			Path:    "k8s.io/kubernetes",
			Version: KubernetesVersion,
			Sum:     "h1:LTUzSbp9n0W7649oVKBYfC48zcoD3vCk++1PZQn28q8=",
		},
		Packages: []string{"./cmd/kube-apiserver", "./cmd/kube-controller-manager", "./cmd/kube-scheduler", "./cmd/kubelet", "./cmd/kube-proxy", "./cmd/kubectl"},
		LDFlags:  kubernetesFlags,
		ModEdits: append(nested(stagingVersion, staging...), required(stagingVersion, staging)...),
		Sums:     lines(kubernetesSums),
	}
)

// stagingVersion is that of the modules nested in Kubernetes' repository.
var stagingVersion = "v0" + strings.TrimPrefix(KubernetesVersion, "v1")

// kubernetesFlags tell the programs their version, as their own build does.
var kubernetesFlags = func() (flags string) {
	minor, _, _ := strings.Cut(strings.TrimPrefix(KubernetesVersion, "v1."), ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += " -X " + pkg + ".gitVersion=" + KubernetesVersion + " -X " + pkg + ".gitMajor=1 -X " + pkg + ".gitMinor=" + minor + " -X " + pkg + ".gitTreeState=clean"
	}
	return flags
}()

// staging are the modules nested in Kubernetes' repository.
var staging = strings.Fields(`
	k8s.io/api k8s.io/apiextensions-apiserver k8s.io/apimachinery k8s.io/apiserver k8s.io/cli-runtime k8s.io/client-go
	k8s.io/cloud-provider k8s.io/cluster-bootstrap k8s.io/code-generator k8s.io/component-base k8s.io/component-helpers
	k8s.io/controller-manager k8s.io/cri-api k8s.io/cri-client k8s.io/cri-streaming k8s.io/csi-translation-lib
	k8s.io/dynamic-resource-allocation k8s.io/endpointslice k8s.io/externaljwt k8s.io/kms k8s.io/kube-aggregator
	k8s.io/kube-controller-manager k8s.io/kube-proxy k8s.io/kube-scheduler k8s.io/kubectl k8s.io/kubelet k8s.io/metrics
	k8s.io/mount-utils k8s.io/pod-security-admission k8s.io/sample-apiserver k8s.io/sample-cli-plugin
	k8s.io/sample-controller k8s.io/streaming`)

// nested has go take modules nested in a repository from the proxy.
func nested(version string, modules ...string) (edits []string) {
	for _, m := range modules {
		edits = append(edits, "-replace="+m+"="+m+"@"+version)
	}
	return edits
}

// required gives modules that are required without a version one.
func required(version string, modules []string) (edits []string) {
	for _, m := range modules {
		edits = append(edits, "-require="+m+"@"+version)
	}
	return edits
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// lowerScore accepts a machine on which no process may be made less likely to be killed when memory runs out.
var lowerScore = build.Patch{
	Path: "internal/app/machined/pkg/system/runner/process/process.go",
	Old:  "pathError.Err != syscall.ENOENT {\n\t\t\t\treturn fmt.Errorf(\"failed to change OOMScoreAdj",
	New:  "pathError.Err != syscall.ENOENT && pathError.Err != syscall.EACCES {\n\t\t\t\treturn fmt.Errorf(\"failed to change OOMScoreAdj",
}
