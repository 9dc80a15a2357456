package clusters

import (
	"testing"

	"slipway/internal/clusters"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

// Nodes behind a bastion are found with the layers, although cluster.yaml lists them. Others are not.
func TestReach(t *testing.T) {
	testkit.WithoutTofu(t)
	v := withCluster(t)
	must.Do(t, makeSecrets(v.Run, "/nonexistent"))
	commit(v)
	must.Do(t, v.OpenCredentials())
	_, _, err := clusters.Reach(t.Context(), v.Run)
	must.Do(t, err)
	v.Describe("credentials: [test]", v.InBucket(), "ssh: {proxy: \"http://proxy.example.org:3128\"}")
	must.Do(t, v.OpenCredentials())
	_, _, err = clusters.Reach(t.Context(), v.Run)
	must.Do(t, err)

	v.Describe("credentials: [test]", v.InBucket(), "ssh: {jump: gate}")
	must.Do(t, v.OpenCredentials())
	_, _, err = clusters.Reach(t.Context(), v.Run)
	must.NotStarted(t, err, "init")
	_, err = clusters.Open(t.Context(), v.Run)
	must.Do(t, err)
}
