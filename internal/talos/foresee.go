package talos

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
)

// A StandIn is used in place of the secrets of a cluster's machines by somebody who does not have them.
type StandIn [2]*secrets.Bundle

// NewStandIn makes one for a version of Talos.
func NewStandIn(version string) (s StandIn, err error) {
	contract, err := Contract(version)
	if err != nil {
		return s, err
	}
	for i := range s {
		// A 4096-bit RSA key would take seconds, and is written in the same places.
		if s[i], err = secrets.NewBundle(secrets.NewClock(), contract, secrets.WithECDSAServiceAccountKey()); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Foresee returns the settings that a node will have, without the secrets of the machines: those that differ
// between two sets of other secrets depend on them, so their values are not known.
func Foresee(c *cluster.Cluster, n cluster.Node, s StandIn, patches ...[]byte) ([]Setting, error) {
	var both [2][]Setting
	for i, bundle := range s {
		rendered, err := Render(c, n, bundle, patches...)
		if err != nil {
			return nil, err
		}
		if both[i], err = Settings(rendered); err != nil {
			return nil, err
		}
	}
	if len(both[0]) != len(both[1]) {
		return nil, fmt.Errorf("the settings of %s depend on the secrets of the machines", n.Name)
	}
	for i := range both[0] {
		a, b := &both[0][i], both[1][i]
		if a.key() != b.key() {
			return nil, fmt.Errorf("the settings of %s depend on the secrets of the machines", n.Name)
		}
		if a.raw != b.raw {
			a.derived, a.Hidden, a.Value, a.raw = true, true, "", ""
		}
	}
	return both[0], nil
}
