package flux

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"slipway/dev/engine/build"
)

// A controller has its program, its CRDs and its deployment in its module.
type controller struct {
	name   string
	module build.GoModule
	edits  []string // besides that of its own api, a module nested in its repository
	sums   []string // lines that its go.sum lacks
}

// controllers are those that can be made here, with the versions that the release names. The others are not in the module
// proxy: notification-controller among the usual ones.
var controllers = []controller{
	{
		name:   "source-controller",
		module: build.GoModule{Path: "github.com/fluxcd/source-controller", Version: "v1.9.5", Sum: "h1:MFPyCodUi9hZIMaKDsC/rYbNoyzpvrAdrPVixj7W9F0="},
		edits:  []string{"-replace=github.com/fluxcd/pkg/artifact=github.com/fluxcd/pkg/artifact@v0.18.1"}, // v0.18.3 is not in the proxy
		sums: []string{
			"github.com/fluxcd/pkg/artifact v0.18.1 h1:YSaEWpEKgtcvUCBx9R71VknpPUzss7hWuvzdG0wjxr8=",
			"github.com/fluxcd/pkg/artifact v0.18.1/go.mod h1:JzPXOu/OQsPR3Wvh6ki249ENPD2CAorQXxEQ3bEiIT4=",
			"github.com/fluxcd/source-controller/api v1.9.5 h1:QwOqmw6/NqOXUR+kGmBJ18CEvthD8DNrSRTtjQG+bHQ=",
			"github.com/fluxcd/source-controller/api v1.9.5/go.mod h1:Y5mcHYzML/mJYjvSJRcIo7eLLjd+cZjnKR6WeIGrouE=",
		},
	},
	{
		name:   "kustomize-controller",
		module: build.GoModule{Path: "github.com/fluxcd/kustomize-controller", Version: "v1.9.5", Sum: "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc="},
		sums: []string{
			"github.com/fluxcd/kustomize-controller/api v1.9.5 h1:Z4CA0cpC9rQmWiJWT9PCNO7+v3PVbAOK+5byHdbtFt8=",
			"github.com/fluxcd/kustomize-controller/api v1.9.5/go.mod h1:oRSEvNgNs07P6Tu3xtRigWxnxLkUCqatxbDv+gG3tLI=",
		},
	},
	{
		name:   "helm-controller",
		module: build.GoModule{Path: "github.com/fluxcd/helm-controller", Version: "v1.6.4", Sum: "h1:u/Ew7LehrwDQaE/NqWdaB3XnNDCxRGDcp1FZl7RKj4g="},
		sums: []string{
			"github.com/fluxcd/helm-controller/api v1.6.4 h1:jDgB87F6RRNF0QEZDAw+8+HPU13toF5IZpPsytA0Nuo=",
			"github.com/fluxcd/helm-controller/api v1.6.4/go.mod h1:mYa4WKwgCCE59dMdYzOJI6B17/wofN6wtmtjWWEQesQ=",
		},
	},
}

func (k controller) program() build.GoProgram {
	return build.GoProgram{
		Module: k.module, Packages: []string{"."}, Sums: k.sums,
		ModEdits: append([]string{"-replace=" + k.module.Path + "/api=" + k.module.Path + "/api@" + k.module.Version}, k.edits...),
	}
}

// Products are all that the images consist of. program makes one with a program.
func Products(c build.Cache, program func(name string, p build.GoProgram) build.Product) []build.Product {
	products := []build.Product{Kustomize(c), Manifests(c)}
	for _, k := range controllers {
		products = append(products, program(k.name, k.program()))
	}
	return products
}

// Images are those of the controllers and of the manifests, under their upstream names. Unlike upstream's, they have no certificates
// of authorities and no git: sources are on this machine.
func Images(c build.Cache, program func(name string, p build.GoProgram) build.Product) []build.Image {
	images := []build.Image{{
		Pin: "flux-manifests", Reference: "ghcr.io/fluxcd/flux-manifests:" + Version,
		Files: []build.PlacedFile{{From: Manifests(c), Name: ManifestsFile, At: "/" + ManifestsFile}},
	}}
	for _, k := range controllers {
		at := "/usr/local/bin/" + k.name
		images = append(images, build.Image{
			Pin: k.name, Reference: "ghcr.io/fluxcd/" + k.name + ":" + k.module.Version,
			Files:  []build.PlacedFile{{From: program(k.name, k.program()), Name: k.name, At: at}},
			Config: v1.Config{User: "65534:65534", Entrypoint: []string{at}, Env: []string{"PATH=/usr/local/bin"}},
		})
	}
	return images
}
