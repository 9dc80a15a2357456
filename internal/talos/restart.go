package talos

import (
	"slices"
	"strings"
)

// immediate are the sections of the document v1alpha1 that Talos up to 1.13 changes without a restart: see
// CanApplyImmediate in internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go there. It changes every
// other document without one, too.
var immediate = []string{
	"debug", "cluster", "machine.ca", "machine.acceptedCAs", "machine.time", "machine.certSANs", "machine.install", "machine.network",
	"machine.sysfs", "machine.sysctls", "machine.logging", "machine.controlPlane", "machine.kubelet", "machine.kernel", "machine.registries",
	"machine.pods", "machine.seccompProfiles", "machine.nodeAnnotations", "machine.nodeLabels", "machine.nodeTaints",
}

// Restarts reports whether a machine that runs this version of Talos restarts because of these changes. From
// 1.14 on none does.
func Restarts(version string, changes []Change) bool {
	if !strings.HasPrefix(version, "v1.12.") && !strings.HasPrefix(version, "v1.13.") {
		return false
	}
	return slices.ContainsFunc(changes, func(c Change) bool {
		path := strings.Join(c.Path, ".")
		return c.Document == "" && !slices.ContainsFunc(immediate, func(section string) bool {
			return path == section || strings.HasPrefix(path, section+".")
		})
	})
}
