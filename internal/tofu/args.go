// Package tofu runs OpenTofu: its command lines as data, its machine formats as
// types, and its process under a supervisor that stops it gently.
package tofu

import (
	"maps"
	"slices"
)

// Init are the settings of `tofu init`.
type Init struct {
	Backend  map[string]string // -backend-config; never a secret, for these are visible in the process list
	ReadOnly bool              // -lockfile=readonly, where a lock file is committed
	// NoBackend leaves the state alone, for checks of the code.
	NoBackend bool
}

// Args is the command line, less the program's name.
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

// Plan are the settings of `tofu plan`. It takes no lock: a plan changes nothing,
// and an apply refuses one that the state has moved away from.
type Plan struct {
	Out     string   // file that receives the plan, sealed by the encryption that TF_ENCRYPTION sets
	Destroy bool     // plan the end of everything
	Targets []string // -target: only these addresses and what they need
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

// Apply are the settings of `tofu apply` on a plan that was saved.
type Apply struct {
	Plan   string
	Locked bool // the caller holds the state's lock; else tofu takes it
}

func (c Apply) Args() []string {
	args := []string{"apply", "-input=false", "-json"}
	if c.Locked {
		args = append(args, "-lock=false")
	}
	return append(args, c.Plan)
}

// ShowPlanArgs prints a saved plan as JSON, values and all: it must not leave
// the process that reads it.
func ShowPlanArgs(plan string) []string { return []string{"show", "-json", plan} }

// ShowStateArgs prints the state as JSON, values and all.
func ShowStateArgs() []string { return []string{"show", "-json"} }

// OutputArgs prints the outputs as JSON, sensitive ones too.
func OutputArgs() []string { return []string{"output", "-json"} }

// StateListArgs prints the addresses in the state, one on each line.
func StateListArgs() []string { return []string{"state", "list"} }

// StateRemoveArgs takes addresses out of the state and leaves what they name alone. The
// caller holds the state's lock.
func StateRemoveArgs(addresses ...string) []string {
	return append([]string{"state", "rm", "-lock=false"}, addresses...)
}

// ImportArgs takes what id names into the state, at address. The caller holds the state's
// lock.
func ImportArgs(address, id string) []string {
	return []string{"import", "-input=false", "-no-color", "-lock=false", address, id}
}

// TaintArgs marks address as one that the next apply replaces. The caller holds the
// state's lock.
func TaintArgs(address string) []string { return []string{"taint", "-lock=false", address} }

// ForceUnlockArgs takes away the lock of that ID and no other.
func ForceUnlockArgs(id string) []string { return []string{"force-unlock", "-force", id} }

// GetArgs fetches the modules that a root calls, and no provider.
func GetArgs() []string { return []string{"get", "-no-color"} }

// LockArgs writes the lock file of a root whose modules are there: the checksums of
// its providers for these platforms. It asks their registries, and never a mirror.
func LockArgs(platforms ...string) []string {
	args := []string{"providers", "lock", "-json"}
	for _, platform := range platforms {
		args = append(args, "-platform="+platform)
	}
	return args
}

// FmtArgs names the files below the folder whose form is not the standard one.
func FmtArgs() []string { return []string{"fmt", "-check", "-recursive", "-list=true", "."} }

// ValidateArgs checks a root module without its state.
func ValidateArgs() []string { return []string{"validate", "-json"} }

// ModuleTestArgs runs the tests of a module.
func ModuleTestArgs() []string { return []string{"test", "-json"} }
