package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Cluster is the Talos cluster of an environment: environments/<env>/cluster.yaml.
type Cluster struct {
	// +private
	Slipway *Slipway
}

// Cluster works on the Talos cluster of an environment.
func (m *Slipway) Cluster() *Cluster { return &Cluster{m} }

// Secrets creates the secrets of the cluster's machines in credentials/<env>-talos.enc.yaml, or takes in those of a cluster that exists.
//
// +cache="never"
func (c *Cluster) Secrets(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The secrets of a cluster that exists: the file of `talosctl gen secrets` or talsecret.sops.yaml, such as file:///dev/shm/secrets.yaml.
	//
	// +optional
	from *dagger.Secret,
) (*dagger.Changeset, error) {
	t, err := c.Slipway.target(ctx, env)
	if err != nil {
		return nil, err
	}
	if from != nil {
		t.container = t.container.WithMountedSecret("/run/secrets/from", from)
	}
	return t.changes(ctx, "cluster-secrets")
}

// Config shows the configuration of the cluster's nodes, with only those values that cannot be secret.
//
// +cache="never"
func (c *Cluster) Config(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this node.
	//
	// +optional
	node string,
) (string, error) {
	return c.Slipway.call(ctx, env, "cluster-config", "--node="+node)
}
