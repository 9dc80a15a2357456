package cluster

import (
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"slipway/dev/engine/build"
	"slipway/dev/engine/flux"
)

// images are those that a node pulls, under their upstream names. They have the upstream images' programs at
// the same paths.
func (m Maker) images() []build.Image {
	kubernetes := m.kubernetes()
	debian := m.debian()
	// withDebian is on the Debian of the nodes.
	withDebian := func(i build.Image) build.Image {
		i.Debian, i.Root, i.Packages = true, debian.Root, debian.Packages
		return i
	}
	image := func(reference, user, at string, files ...build.PlacedFile) build.Image {
		name, _, _ := strings.Cut(reference[strings.LastIndex(reference, "/")+1:], ":")
		return build.Image{
			Pin: name, Reference: reference, Files: files,
			Config: v1.Config{User: user, Entrypoint: []string{at}, Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
		}
	}
	of := func(p build.Product, name, at string) build.PlacedFile {
		return build.PlacedFile{From: p, Name: name, At: at}
	}
	control := func(name string) build.Image {
		at := "/usr/local/bin/" + name
		return image("registry.k8s.io/"+name+":"+KubernetesVersion, "65534", at, of(kubernetes, name, at))
	}
	return append(flux.Images(m.Cache, m.program),
		withDebian(image("ghcr.io/siderolabs/kubelet:"+KubernetesVersion, "0", "/usr/local/bin/kubelet",
			of(kubernetes, "kubelet", "/usr/local/bin/kubelet.real"), of(m.inside(), "inside", "/usr/local/bin/kubelet"))),
		control("kube-apiserver"),
		control("kube-controller-manager"),
		control("kube-scheduler"),
		withDebian(image("registry.k8s.io/kube-proxy:"+KubernetesVersion, "0", "/usr/local/bin/kube-proxy", of(kubernetes, "kube-proxy", "/usr/local/bin/kube-proxy"))),
		image("registry.k8s.io/etcd:"+strings.TrimPrefix(etcdVersion, "v"), "0", "/usr/local/bin/etcd", of(m.Etcd(), "server", "/usr/local/bin/etcd")),
		image("registry.k8s.io/coredns/coredns:"+coreDNSVersion, "65532", "/coredns", of(m.coreDNS(), "coredns", "/coredns")),
		withDebian(build.Image{
			Pin: "pause", Reference: "registry.k8s.io/pause:" + pauseVersion,
			Config: v1.Config{User: "65535", Entrypoint: []string{"/usr/bin/catatonit", "-P"}, Env: []string{"PATH=/usr/bin"}},
		}),
	)
}

// Tools are the images that ci/ takes kubectl, talosctl and helm from, with the programs at the paths of the upstream
// images. Each has the version that is built here in its name: helm's newest ones are not in the module proxy.
func (m Maker) Tools() []build.Image {
	tool := func(pin, reference string, from build.Product, name, at string) build.Image {
		return build.Image{
			Pin: pin, Reference: reference, Files: []build.PlacedFile{{From: from, Name: name, At: at}},
			Config: v1.Config{Entrypoint: []string{at}},
		}
	}
	return []build.Image{
		tool("KUBECTL", "registry.k8s.io/kubectl:"+KubernetesVersion, m.kubernetes(), "kubectl", "/bin/kubectl"),
		tool("TALOSCTL", "ghcr.io/siderolabs/talosctl:"+TalosVersion, m.talosctl(), "talosctl", "/talosctl"),
		tool("HELM", "docker.io/alpine/helm:"+strings.TrimPrefix(helmVersion, "v"), m.helm(), "helm", "/usr/bin/helm"),
	}
}
