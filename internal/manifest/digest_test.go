package manifest

import "testing"

// Whatever is another about a plan, so is its digest.
func TestPlanDigest(t *testing.T) {
	one, two := Part{"base", []byte("1")}, Part{"apps", []byte("2")}
	seen := map[string]string{}
	for name, digest := range map[string]string{
		"as it is":            PlanDigest("prod", []Part{one, two}),
		"another environment": PlanDigest("test", []Part{one, two}),
		"another order":       PlanDigest("prod", []Part{two, one}),
		"one layer":           PlanDigest("prod", []Part{one}),
		"no layer":            PlanDigest("prod", nil),
		"another manifest":    PlanDigest("prod", []Part{one, {"apps", []byte("3")}}),
		"another name":        PlanDigest("prod", []Part{one, {"app", []byte("2")}}),
	} {
		if other, ok := seen[digest]; ok || len(digest) != len("sha256:")+64 {
			t.Errorf("%s has the digest of %s: %s", name, other, digest)
		}
		seen[digest] = name
	}
	first, again := PlanDigest("prod", []Part{one, two}), PlanDigest("prod", []Part{one, two})
	if first != again {
		t.Error("it is another each time")
	}
}
