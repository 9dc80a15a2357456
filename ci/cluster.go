package main

import (
	"context"
	"fmt"

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

// Plan shows what an apply would change on each node of the cluster. It is short for `plan --layer=cluster.yaml`.
//
// +cache="never"
func (c *Cluster) Plan(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Store the sealed plan in the state's bucket.
	//
	// +optional
	keep bool,
) (string, error) {
	return c.Slipway.Plan(ctx, env, clusterFile, keep, "", "")
}

// Apply gives each node of the cluster its configuration, one at a time, as long as etcd keeps its quorum. It is short for `apply --layer=cluster.yaml`.
//
// +cache="never"
func (c *Cluster) Apply(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Apply the plan stored in the state's bucket for exactly these files.
	//
	// +optional
	reviewed bool,
	// Digest of the reviewed plan: apply only that plan.
	//
	// +optional
	digest string,
	// Change control planes although etcd has no leader, as most of them are down.
	//
	// +optional
	quorumLost bool,
) (string, error) {
	return c.Slipway.Apply(ctx, env, clusterFile, nil, reviewed, digest, "", quorumLost)
}

// clusterFile stands for the cluster where layers are chosen.
const clusterFile = "cluster.yaml"

// Bootstrap begins the etcd of a new cluster. One that exists is left as it is.
//
// +cache="never"
func (c *Cluster) Bootstrap(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return c.Slipway.call(ctx, env, "cluster-bootstrap")
}

// Status shows the nodes of the cluster: their versions, their states, etcd, and until when their certificates are valid.
//
// +cache="never"
func (c *Cluster) Status(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return c.Slipway.call(ctx, env, "cluster-status")
}

// Health checks that each node is ready, and that etcd has all its members.
//
// +cache="never"
func (c *Cluster) Health(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return c.Slipway.call(ctx, env, "cluster-health")
}

// Logs shows the last lines that a service on a node has logged.
//
// +cache="never"
func (c *Cluster) Logs(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Name of the node.
	node string,
	// Name of the service, such as etcd or kubelet.
	service string,
	// Number of lines.
	//
	// +default=100
	lines int,
) (string, error) {
	return c.Slipway.call(ctx, env, "cluster-logs", "--node="+node, "--service="+service, fmt.Sprintf("--lines=%d", lines))
}

// Kubeconfig makes a kubeconfig for an administrator. `plaintext` prints it.
//
// +cache="never"
func (c *Cluster) Kubeconfig(
	ctx context.Context,
	// Its fields are the arguments. In Go no argument can have the name `for`.
	options struct {
		// Folder below environments/.
		Env string
		// Lifetime of the certificate, from 1m to 168h.
		//
		// +default="8h"
		For string
	},
) (*dagger.Secret, error) {
	return c.login(ctx, options.Env, "cluster-kubeconfig", options.For)
}

// Talosconfig makes a talosconfig for an administrator. `plaintext` prints it.
//
// +cache="never"
func (c *Cluster) Talosconfig(
	ctx context.Context,
	// Its fields are the arguments. In Go no argument can have the name `for`.
	options struct {
		// Folder below environments/.
		Env string
		// Lifetime of the certificate, from 1m to 168h.
		//
		// +default="8h"
		For string
	},
) (*dagger.Secret, error) {
	return c.login(ctx, options.Env, "cluster-talosconfig", options.For)
}
