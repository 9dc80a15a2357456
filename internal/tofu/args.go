// Package tofu runs OpenTofu: its command lines as data, its machine-readable output as types, and
// its process under a supervisor that stops it gracefully.
package tofu

import (
	"maps"
	"slices"
)

// Init are the settings of `tofu init`.
type Init struct {
	Backend  map[string]string // -backend-config; never a secret, because it is visible in the process list
	ReadOnly bool              // -lockfile=readonly, if a lock file is committed
	// NoBackend leaves the state alone, for checks of the code.
	NoBackend bool
}

// Args returns the command line without the program's name.
func (c Init) Args() []string {
	args := []string{"init", "-input=false", "-no-color"}
	if c.NoBackend {
		args = append(args, "-backend=false")
	} else {
		args = append(args, "-reconfigure")
	}
	if c.ReadOnly {
		args = append(args, "-lockfile=readonly")
	}
	for _, key := range slices.Sorted(maps.Keys(c.Backend)) {
		args = append(args, "-backend-config="+key+"="+c.Backend[key])
	}
	return args
}

// Plan are the settings of `tofu plan`. It does not lock the state: a plan changes nothing, and an
// apply refuses an outdated plan.
type Plan struct {
	Out     string   // file for the plan, encrypted as TF_ENCRYPTION says
	Destroy bool     // plan to destroy everything
	Targets []string // -target: only these addresses and their dependencies
}

func (c Plan) Args() []string {
	args := []string{"plan", "-input=false", "-json", "-detailed-exitcode", "-lock=false", "-out=" + c.Out}
	if c.Destroy {
		args = append(args, "-destroy")
	}
	for _, address := range c.Targets {
		args = append(args, "-target="+address)
	}
	return args
}

// Apply are the settings of `tofu apply` for a saved plan.
type Apply struct {
	Plan   string
	Locked bool // the caller holds the state's lock; otherwise tofu takes it
}

func (c Apply) Args() []string {
	args := []string{"apply", "-input=false", "-json"}
	if c.Locked {
		args = append(args, "-lock=false")
	}
	return append(args, c.Plan)
}

// ShowPlanArgs prints a saved plan as JSON, including all values: the output must not leave the
// process that reads it.
func ShowPlanArgs(plan string) []string { return []string{"show", "-json", plan} }

// ShowStateArgs prints the state as JSON, including all values.
func ShowStateArgs() []string { return []string{"show", "-json"} }

// OutputArgs prints the outputs as JSON, including sensitive ones.
func OutputArgs() []string { return []string{"output", "-json"} }

// StateListArgs prints the addresses in the state, one per line.
func StateListArgs() []string { return []string{"state", "list"} }

// StateRemoveArgs removes addresses from the state without touching the resources. The caller holds
// the state's lock.
func StateRemoveArgs(addresses ...string) []string {
	return append([]string{"state", "rm", "-lock=false"}, addresses...)
}

// ImportArgs imports the resource with that ID into the state, at address. The caller holds the
// state's lock.
func ImportArgs(address, id string) []string {
	return []string{"import", "-input=false", "-no-color", "-lock=false", address, id}
}

// TaintArgs marks address to be replaced by the next apply. The caller holds the state's lock.
func TaintArgs(address string) []string { return []string{"taint", "-lock=false", address} }

// ForceUnlockArgs removes the lock with that ID and no other.
func ForceUnlockArgs(id string) []string { return []string{"force-unlock", "-force", id} }

// GetArgs fetches the modules that a root module calls, but no providers.
func GetArgs() []string { return []string{"get", "-no-color"} }

// LockArgs writes the lock file of a root module whose modules are fetched: the checksums of its
// providers for these platforms. It queries the registries, never a mirror.
func LockArgs(platforms ...string) []string {
	args := []string{"providers", "lock", "-json"}
	for _, platform := range platforms {
		args = append(args, "-platform="+platform)
	}
	return args
}

// FmtArgs lists the files below the folder that are not formatted.
func FmtArgs() []string { return []string{"fmt", "-check", "-recursive", "-list=true", "."} }

// ValidateArgs checks a root module without its state.
func ValidateArgs() []string { return []string{"validate", "-json"} }

// ModuleTestArgs runs the tests of a module.
func ModuleTestArgs() []string { return []string{"test", "-json"} }
