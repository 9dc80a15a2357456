package main

import (
	"path"
	"strings"

	"slipway/dev/engine/build"
)

// images contain what our functions use of the upstream images of the same name, at the same paths.
// The golang image has no C compiler: we build without cgo.
var images = []build.Image{
	{Pin: "DEBIAN", Debian: true},
	golangImage,
	ansibleImage,
	{
		Pin: "OPENTOFU",
		Programs: []build.PlacedProgram{{
			GoProgram: build.GoProgram{
				Module: build.GoModule{
					Path:    "github.com/opentofu/opentofu",
					Version: "v1.12.6",
					Sum:     "h1:0VT4P8pMmGcCUnQ9JDrJ+Qg2d35Vzm4FFd/9+H7oF98=",
				},
				Packages: []string{"./cmd/tofu"},
				LDFlags:  "-X github.com/opentofu/opentofu/version.dev=no",
			},
			At: "/usr/local/bin/tofu",
		}},
	},
	{
		// With a registry, providers are downloaded according to the lock file.
		Pin:       "PROVIDERS",
		Reference: "docker.io/slipway/providers:1",
		Programs: []build.PlacedProgram{
			provider("terraform-provider-openstack/openstack", build.GoModule{
				Path:    "github.com/terraform-provider-openstack/terraform-provider-openstack/v3",
				Version: "v3.4.0",
				Sum:     "h1:Ap8gvameIY5ZM7CMh7fngP/VoIyeupzKX3izoyfp9yg=",
			}),
			provider("ovh/ovh", build.GoModule{
				Path:    "github.com/ovh/terraform-provider-ovh",
				Version: "v1.4.0",
				Sum:     "h1:aaNqm+AcP99s/Viql0WV3N09xqcENlwPjxReDovI8xQ=",
			}),
		},
	},
	caddyImage, mosquittoImage, backendImage, powersyncImage,
}

// provider is an OpenTofu provider in a mirror, with the layout of
// https://opentofu.org/docs/cli/config/config-file/#implied-local-mirror-directories
func provider(address string, module build.GoModule) build.PlacedProgram {
	version := strings.TrimPrefix(module.Version, "v")
	return build.PlacedProgram{
		GoProgram: build.GoProgram{Module: module, Packages: []string{"."}},
		At:        "/registry.opentofu.org/" + address + "/" + version + "/linux_amd64/terraform-provider-" + path.Base(address) + "_v" + version,
	}
}

// ansibleImage has Python and, other than the upstream image, Debian's Ansible, with the collections
// that playbooks for servers use. The others are ten times as large.
var ansibleImage = build.Image{
	Pin:      "ANSIBLE",
	Debian:   true,
	Packages: []string{"ansible", "openssh-client"},
	Hooks: []string{
		`cd "$1"/usr/lib/python3/dist-packages/ansible_collections && find . -mindepth 2 -maxdepth 2 -type d ` +
			`! -path ./ansible/posix ! -path './community/docker' ! -path ./community/library_inventory_filtering_v1 ! -path ./community/postgresql ! -path ./community/crypto ! -path ./community/general -prune -exec rm -rf {} +`,
		// ssh refuses to run as a user without an entry.
		`echo 'tools:x:65532:65532::/nonexistent:/usr/sbin/nologin' >>"$1"/etc/passwd`,
	},
}

var golangImage = build.Image{
	Pin:      "GOLANG",
	Debian:   true,
	Packages: []string{"ca-certificates", "git", "openssh-client"},
	GoRoot:   true,
	Env: []string{
		"PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"GOLANG_VERSION=" + build.GoVersion, "GOTOOLCHAIN=local", "GOPATH=/go",
	},
}
