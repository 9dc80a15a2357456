// Package distconsts stands in for the nested module of the same name in Dagger's
// repository, which the Go module proxy cannot serve. It holds the facts about
// the engine's root that Dagger's packages compile in; the engine's root that
// dev/engine assembles keeps to them.
package distconsts

// Where the engine listens and what the Docker driver calls its container.
const (
	DefaultEngineSockAddr = "unix:///run/dagger/engine.sock"
	EngineContainerName   = "dagger-engine.dev"
)

// Paths inside the engine's root.
const (
	RuncPath                         = "/usr/local/bin/runc"
	DaggerInitPath                   = "/usr/local/bin/dagger-init"
	EngineDefaultStateDir            = "/var/lib/dagger"
	EngineContainerBuiltinContentDir = "/usr/local/share/dagger/content"
	EngineCustomCACertsDir           = "/usr/local/share/ca-certificates"
)

// Environment variables that name the manifests of the built-in SDK images.
const (
	GoSDKManifestDigestEnvName         = "DAGGER_GO_SDK_MANIFEST_DIGEST"
	PythonSDKManifestDigestEnvName     = "DAGGER_PYTHON_SDK_MANIFEST_DIGEST"
	TypescriptSDKManifestDigestEnvName = "DAGGER_TYPESCRIPT_SDK_MANIFEST_DIGEST"
)

// Images that Dagger falls back to, and the annotation its update check reads.
const (
	AlpineVersion        = "3.22.1"
	AlpineImage          = "alpine:" + AlpineVersion
	GolangImage          = "golang:1.25.5-alpine"
	BusyboxImage         = "busybox:1.37.0"
	OCIVersionAnnotation = "org.opencontainers.image.version"
)
