// Package clusters opens the Talos cluster of an environment: its description, its machines' secrets and
// its nodes.
package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	machine "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/fault"
	"slipway/internal/hosts"
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
	"slipway/internal/tofu"
	"slipway/internal/tunnel"
	"slipway/internal/workspace"
)

// A Cluster is the cluster of an environment.
type Cluster struct {
	*run.Run
	Spec    *cluster.Cluster
	Secrets *machine.Bundle // nil: this run does not have them
	Listed  bool            // cluster.yaml lists the nodes; otherwise the layers do

	standIn *talos.StandIn // for the secrets
	key     string         // of the digests of settings; empty: that of the passphrase

	hosts  []remote.Host // of the layers, if the nodes are behind one of them
	access *talosapi.Access
	tunnel *tunnel.Tunnel // nil: the nodes are not behind a bastion
}

// Chosen reports whether a run works on the cluster of its environment, and not only on a layer.
func Chosen(r *run.Run) bool {
	return r.HasCluster() && (r.OnlyLayer == "" || r.OnlyLayer == cluster.FileName)
}

// Read reads cluster.yaml.
func Read(r *run.Run) (*Cluster, error) {
	spec, warnings, err := cluster.Load(os.DirFS(r.Repository), r.Env)
	if errors.Is(err, cluster.ErrNone) {
		return nil, fault.Refuse("$EDITOR "+printable.Word(cluster.Path(r.Env))+"   # its keys: environments/cluster.schema.json", "environment %s has no cluster: there is no %s", r.Env, cluster.Path(r.Env))
	}
	if err != nil {
		return nil, err
	}
	warn(r, warnings)
	return &Cluster{Run: r, Spec: spec, Listed: len(spec.Nodes) > 0}, nil
}

func warn(r *run.Run, warnings []string) {
	for _, w := range warnings {
		r.Say("note: %s", run.Word(w))
	}
}

// Open reads everything: the file, the secrets, and nodes that layers list.
func Open(ctx context.Context, r *run.Run) (*Cluster, error) {
	c, err := Read(r)
	if err != nil {
		return nil, err
	}
	if err := c.NeedSecrets(); err != nil || c.Listed {
		return c, err
	}
	if err := workspace.Prepare(r); err != nil {
		return nil, err
	}
	return c, c.AskLayers(ctx)
}

// OpenToCompare opens the cluster for a run that only compares. Its key need not open the secrets of the machines,
// and the nodes that layers list are still to be added.
func OpenToCompare(r *run.Run) (*Cluster, error) {
	c, err := Read(r)
	if err != nil {
		return nil, err
	}
	return c, c.WantSecrets()
}

// AskLayers adds what the layers list, in the state that they are in.
func (c *Cluster) AskLayers(ctx context.Context) error {
	layers, err := layer.Every(c.Run)
	if err != nil {
		return err
	}
	for _, l := range layers {
		if err := l.Init(ctx); err != nil {
			return err
		}
		outputs, err := l.Outputs(ctx)
		if err != nil {
			return err
		}
		if err := c.Add(l, outputs); err != nil {
			return err
		}
	}
	return c.Complete()
}

// Add adds the nodes that a layer lists, unless cluster.yaml does, and the hosts among which the bastion is.
func (c *Cluster) Add(l *layer.Layer, outputs tofu.Outputs) error {
	if c.jumps() {
		found, err := hosts.Of(l, outputs)
		if err != nil {
			return err
		}
		c.hosts = append(c.hosts, found...)
	}
	output, there := outputs[cluster.NodesOutput]
	if !there || c.Listed {
		return nil
	}
	if output.Sensitive {
		return fault.Refuse("$EDITOR "+printable.Word(l.Environment.Dir(l.Config)), "the output %s of %s is sensitive, and a plan has to show it", cluster.NodesOutput, l.Name)
	}
	return c.Spec.AddNodes(l.Name, json.RawMessage(output.Value))
}

// Complete checks the nodes when all layers have been asked.
func (c *Cluster) Complete() error {
	if c.Listed {
		return nil
	}
	warnings, err := c.Spec.Complete(os.DirFS(c.Repository))
	warn(c.Run, warnings)
	return err
}

// NeedSecrets decrypts the secrets of the machines, and masks them.
func (c *Cluster) NeedSecrets() (err error) {
	name, data, err := c.sealedSecrets()
	if err != nil {
		return err
	}
	c.Secrets, err = ReadSecrets(c.Run, c.Spec, name, data, c.Identity)
	return err
}

// WantSecrets is NeedSecrets for somebody who can do without, as the file need not be sealed to them.
func (c *Cluster) WantSecrets() error {
	name, data, err := c.sealedSecrets()
	if err != nil {
		return err
	}
	if _, err := secrets.OpenDocument(name, data, c.Identity); err != nil {
		if _, foreign := errors.AsType[*secrets.ForeignError](err); foreign {
			return nil
		}
		return secrets.Refuse(name, err)
	}
	return c.NeedSecrets()
}

func (c *Cluster) sealedSecrets() (name string, data []byte, err error) {
	name = cluster.SecretsFile(c.Env)
	data, err = os.ReadFile(filepath.Join(c.Repository, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.Refuse("dagger call -y cluster secrets --env="+c.Env, "there is no file %s with the secrets of the machines", name)
	}
	return name, data, err
}

// ReadSecrets reads the SOPS file called name, and masks what is in it.
func ReadSecrets(r *run.Run, spec *cluster.Cluster, name string, data []byte, identity secrets.Identity) (*machine.Bundle, error) {
	plain, err := secrets.OpenDocument(name, data, identity)
	if err != nil {
		return nil, secrets.Refuse(name, err)
	}
	return ParseSecrets(r, spec, name, plain)
}

// ParseSecrets reads secrets that are not encrypted, and masks them.
func ParseSecrets(r *run.Run, spec *cluster.Cluster, name string, plain []byte) (*machine.Bundle, error) {
	contract, err := talos.Contract(spec.Talos)
	if err != nil {
		return nil, err
	}
	bundle, err := talos.ReadSecrets(plain, contract)
	if err != nil {
		return nil, fault.Refuse("git log -- "+printable.Word(name), "%s is not usable: %v", name, err)
	}
	r.Mask.Add(talos.SecretsOf(bundle)...)
	return bundle, nil
}

// Config returns the configuration that a node is to have: with the secrets of the machines, or with others in
// their place if this run does not have them.
func (c *Cluster) Config(n cluster.Node) (config.Provider, error) {
	patches, names, err := c.patches(n)
	if err != nil {
		return nil, err
	}
	bundle := c.Secrets
	if bundle == nil {
		if err := c.needStandIn(); err != nil {
			return nil, err
		}
		bundle = c.standIn[0]
	}
	provider, err := talos.Render(c.Spec, n, bundle, patches...)
	if err == nil {
		_, err = provider.ValidateAsClient(talos.Metal{})
	}
	if err != nil {
		file := cluster.Path(c.Env)
		if len(names) > 0 {
			file = "environments/" + c.Env + "/" + names[len(names)-1]
		}
		return nil, fault.Refuse("$EDITOR "+printable.Word(file), "the configuration of %s is not valid: %s", n.Name, oneLine(err))
	}
	return provider, nil
}

// settings returns the settings that a node is to have, as far as this run can know them.
func (c *Cluster) settings(n cluster.Node) ([]talos.Setting, error) {
	provider, err := c.Config(n)
	if err != nil {
		return nil, err
	}
	if c.Secrets != nil {
		return talos.Settings(provider)
	}
	patches, _, err := c.patches(n)
	if err != nil {
		return nil, err
	}
	return talos.Foresee(c.Spec, n, *c.standIn, patches...)
}

func (c *Cluster) needStandIn() error {
	if c.standIn != nil {
		return nil
	}
	s, err := talos.NewStandIn(c.Spec.Talos)
	c.standIn = &s
	return err
}

// patches reads the files that patch a node.
func (c *Cluster) patches(n cluster.Node) (patches [][]byte, names []string, err error) {
	names = c.Spec.PatchesOf(n)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(c.Repository, "environments", c.Env, name))
		if err != nil {
			return nil, nil, err
		}
		patches = append(patches, data)
	}
	return patches, names, nil
}

// oneLine joins the lines of a list of errors.
func oneLine(err error) string {
	return printable.Terminal(strings.Join(strings.Fields(err.Error()), " "))
}
