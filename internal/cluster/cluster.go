// Package cluster reads the description of a Talos cluster, cluster.yaml, beside environment.yaml.
package cluster

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"

	"slipway/internal/fault"
	"slipway/internal/settings"
)

// FileName is the file beside environment.yaml.
const FileName = "cluster.yaml"

// A Cluster is what cluster.yaml describes.
type Cluster struct {
	Environment string `yaml:"-" json:"-"`

	Name       string     `yaml:"name" json:"name" jsonschema:"minLength=1,pattern=^[a-z0-9]([a-z0-9-]{0\\,61}[a-z0-9])?$,description=Name of the cluster"`
	Talos      string     `yaml:"talos" json:"talos" jsonschema:"pattern=^v[0-9]+\\.[0-9]+\\.[0-9]+$,description=Version of Talos. Example: v1.14.1"`
	Kubernetes string     `yaml:"kubernetes" json:"kubernetes" jsonschema:"pattern=^v[0-9]+\\.[0-9]+\\.[0-9]+$,description=Version of Kubernetes. Example: v1.35.0"`
	Installer  string     `yaml:"installer" json:"installer,omitempty" jsonschema:"description=Image that installs Talos\\, without a tag: that of a schematic at factory.talos.dev. Default: the one without extensions"`
	Endpoint   string     `yaml:"endpoint" json:"endpoint" jsonschema:"format=uri,description=URL of the Kubernetes API: a load balancer or the VIP. Example: https://10.0.0.10:6443"`
	VIP        *VIP       `yaml:"vip" json:"vip,omitempty" jsonschema:"description=Address that the control planes share. It needs no load balancer, but one network of layer 2"`
	Network    string     `yaml:"network" json:"network,omitempty" jsonschema:"description=Network of the nodes and of the VIP. Example: 10.0.0.0/24"`
	Pods       []string   `yaml:"pods" json:"pods,omitempty" jsonschema:"minItems=1,maxItems=2,description=Networks of the pods. Default: 10.244.0.0/16"`
	Services   []string   `yaml:"services" json:"services,omitempty" jsonschema:"minItems=1,maxItems=2,description=Networks of the services. Default: 10.96.0.0/12"`
	Registries []Registry `yaml:"registries" json:"registries,omitempty" jsonschema:"minItems=1,description=Mirrors of registries"`
	Patches    []string   `yaml:"patches" json:"patches,omitempty" jsonschema:"minItems=1,description=Patches of every node: files beside cluster.yaml, strategic merges"`
	Controls   *Group     `yaml:"controlPlanes" json:"controlPlanes,omitempty" jsonschema:"description=What all control planes have in common"`
	Workers    *Group     `yaml:"workers" json:"workers,omitempty" jsonschema:"description=What all workers have in common"`
	Nodes      []Node     `yaml:"nodes" json:"nodes,omitempty" jsonschema:"minItems=1,description=The nodes. Default: those in the output talos_nodes of the layers"`

	// Even accepts an even number of control planes.
	Even bool `yaml:"evenControlPlanes" json:"evenControlPlanes,omitempty" jsonschema:"description=Accept an even number of control planes, which survives no more failures than one less. Default: false"`
}

// A VIP is an address that one control plane has at a time.
type VIP struct {
	Address string `yaml:"address" json:"address" jsonschema:"description=IP address that no machine has"`
	Link    string `yaml:"link" json:"link" jsonschema:"minLength=1,description=Network interface of the control planes, or its alias. Example: eth0"`
}

// A Group is one of the two roles.
type Group struct {
	Disk    string   `yaml:"disk" json:"disk,omitempty" jsonschema:"description=Disk to install to. Example: /dev/sda"`
	Patches []string `yaml:"patches" json:"patches,omitempty" jsonschema:"minItems=1,description=Patches of these nodes: files beside cluster.yaml, strategic merges"`
}

// A Node is one machine.
type Node struct {
	Name    string `yaml:"name" json:"name" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]{0\\,61}[a-z0-9])?$,description=Its hostname"`
	Address string `yaml:"address" json:"address" jsonschema:"description=IP address at which its API answers"`
	Role    Role   `yaml:"role" json:"role" jsonschema:"enum=controlplane,enum=worker,description=Its role"`
	Disk    string `yaml:"disk" json:"disk,omitempty" jsonschema:"description=Disk to install to. Default: that of its role"`
	// Fingerprint is that of the certificate in maintenance mode, as the node's console prints it.
	Fingerprint string `yaml:"fingerprint" json:"fingerprint,omitempty" jsonschema:"description=Fingerprint of the certificate that the node shows before it has a configuration\\, as its console prints it. Default: any"`

	Zone    string   `yaml:"zone" json:"zone,omitempty" jsonschema:"description=Failure domain: nodes of a zone can fail together"`
	Patches []string `yaml:"patches" json:"patches,omitempty" jsonschema:"minItems=1,description=Patches of this node: files beside cluster.yaml, strategic merges"`
}

// A Role is what Talos calls the type of a machine.
type Role string

const (
	ControlPlane Role = "controlplane"
	Worker       Role = "worker"
)

// A Registry is one with mirrors.
type Registry struct {
	Host    string   `yaml:"host" json:"host" jsonschema:"description=Registry in the names of images. Example: docker.io"`
	Mirrors []string `yaml:"mirrors" json:"mirrors" jsonschema:"minItems=1,description=URLs to ask instead, in this order"`
}

// Path returns the file of an environment.
func Path(environment string) string { return path.Join("environments", environment, FileName) }

// SecretsFile returns the SOPS file with the secrets of an environment's machines.
func SecretsFile(environment string) string {
	return "credentials/" + environment + "-talos.enc.yaml"
}

// ErrNone means that an environment has no cluster.
var ErrNone = errors.New("the environment has no cluster.yaml")

// Load reads the cluster of an environment and checks it against the repository. It returns ErrNone if
// there is none.
func Load(repository fs.FS, environment string) (*Cluster, []string, error) {
	s := &source{Source: settings.Source{
		Path: Path(environment), Check: "dagger call environments", Secrets: "credentials/" + environment + ".enc.env",
		Least: "`name:`, `talos:`, `kubernetes:`, `endpoint:` and `nodes:`; the keys are in environments/cluster.schema.json",
	}}
	c := &Cluster{Environment: environment}
	there, err := s.Read(repository, c)
	if err != nil {
		return nil, nil, err
	}
	if !there {
		return nil, nil, ErrNone
	}
	if err := s.check(repository, c); err != nil {
		return nil, nil, err
	}
	return c, c.warnings(), nil
}

// Of returns the nodes with a role, in the order of the file.
func (c *Cluster) Of(role Role) []Node {
	var nodes []Node
	for _, n := range c.Nodes {
		if n.Role == role {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// PatchesOf returns the files that patch a node, in the order in which they do: those of every node, of its
// role, and its own.
func (c *Cluster) PatchesOf(n Node) []string {
	group := c.Workers
	if n.Role == ControlPlane {
		group = c.Controls
	}
	files := slices.Clone(c.Patches)
	if group != nil {
		files = append(files, group.Patches...)
	}
	return append(files, n.Patches...)
}

// NodesOutput is the output of a layer that lists nodes in the form of cluster.yaml.
const NodesOutput = "talos_nodes"

// AddNodes adds the nodes of a layer's output, which Complete checks.
func (c *Cluster) AddNodes(layer string, output json.RawMessage) error {
	s := c.outputs(NodesOutput + " of " + layer)
	var list struct {
		Nodes []Node `yaml:"nodes"`
	}
	if err := s.Decode(append(append([]byte(`{"nodes": `), output...), '}'), &list); err != nil {
		return err
	}
	c.Nodes = append(c.Nodes, list.Nodes...)
	return nil
}

// Complete checks nodes that came from outputs by the same rules as those of the file, and returns what may
// be meant.
func (c *Cluster) Complete(repository fs.FS) (warnings []string, err error) {
	s := c.outputs(NodesOutput)
	if len(c.Nodes) == 0 {
		return nil, fault.Refuse("dagger call apply --env="+c.Environment, "the cluster %s has no nodes: cluster.yaml names none, and no layer has an output %s", c.Name, NodesOutput)
	}
	for _, rule := range []func(fs.FS, *Cluster) error{s.checkNodes, s.checkControls, s.checkPatches} {
		if err := rule(repository, c); err != nil {
			return nil, err
		}
	}
	return c.warnings(), nil
}

func (c *Cluster) outputs(name string) *source {
	return &source{Source: settings.Source{Path: "the output " + name, Output: true, Check: "dagger call cluster config --env=" + c.Environment, Secrets: "credentials/" + c.Environment + ".enc.env"}}
}
