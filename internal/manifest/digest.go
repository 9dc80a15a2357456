package manifest

import "fmt"

// A Part is the sealed manifest of one layer.
type Part struct {
	Layer string
	Data  []byte
}

// PlanDigest returns what a reviewer approves: one digest for the plan of an environment, computed
// from the manifests of all its layers in order. Each manifest contains the digest of its sealed
// plan, so no part can be exchanged.
func PlanDigest(environment string, parts []Part) string {
	text := fmt.Sprintf("slipway plan %q\n", environment)
	for _, p := range parts {
		text += fmt.Sprintf("%q %s\n", p.Layer, Digest(p.Data))
	}
	return Digest([]byte(text))
}
