package talos

import (
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
)

// A StandIn is used in place of the secrets of a cluster's machines by somebody who does not have them: two
// sets of other secrets, in the forms of new and of old clusters.
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
	// Until 1.2, Talos encrypted the secrets of Kubernetes in another way, and clusters keep theirs.
	old := s[1].Secrets
	old.AESCBCEncryptionSecret, old.SecretboxEncryptionSecret = strings.Repeat("A", 43)+"=", ""
	return s, nil
}

// Foresee returns the settings that a node will have, without the secrets of the machines. Settings that differ
// between two sets of other secrets depend on them: their values are not known, nor whether they are there.
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
	other := map[string]string{}
	for _, b := range both[1] {
		other[b.key()] = b.raw
	}
	unknown := func(s Setting) Setting { return Setting{Place: s.Place, Hidden: true, derived: true} }
	var all []Setting
	for _, a := range both[0] {
		if other[a.key()] != a.raw {
			a = unknown(a)
		}
		all = append(all, a)
		delete(other, a.key())
	}
	for _, b := range both[1] {
		if _, there := other[b.key()]; there {
			all = append(all, unknown(b))
		}
	}
	return all, nil
}
