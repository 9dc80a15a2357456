package manifest

import "fmt"

// A Part is the manifest of one layer, as it was sealed.
type Part struct {
	Layer string
	Data  []byte
}

// PlanDigest is what a reviewer approves: one digest for the plan of an environment, of
// the manifests of all its layers in their order. Each manifest holds the digest of its
// sealed plan, so nothing of them can be another.
func PlanDigest(environment string, parts []Part) string {
	text := fmt.Sprintf("slipway plan %q\n", environment)
	for _, p := range parts {
		text += fmt.Sprintf("%q %s\n", p.Layer, Digest(p.Data))
	}
	return Digest([]byte(text))
}
