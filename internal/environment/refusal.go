package environment

import (
	"slipway/internal/fault"
	"slipway/internal/settings"
)

// A source is the environment.yaml that is being read.
type source struct{ settings.Source }

func refuse(hint, format string, args ...any) error { return fault.Refuse(hint, format, args...) }

// listCommand checks every environment.
const listCommand = "dagger call environments"
