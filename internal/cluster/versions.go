package cluster

import (
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
)

// supported returns an error if this version of Talos does not run this version of Kubernetes, or is not
// known.
func supported(talos, kubernetes string) error {
	t, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: talos})
	if err != nil {
		return err
	}
	k, err := compatibility.ParseKubernetesVersion(kubernetes)
	if err != nil {
		return err
	}
	return k.SupportedWith(t)
}

// contracts are the versions of Talos whose configurations Slipway writes.
var contracts = []string{"v1.12", "v1.13", "v1.14"}

// minor returns v1.14 of v1.14.1.
func minor(version string) string { return version[:strings.LastIndex(version, ".")] }
