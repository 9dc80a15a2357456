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
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/talos"
)

// A Cluster is the cluster of an environment.
type Cluster struct {
	*run.Run
	Spec    *cluster.Cluster
	Secrets *machine.Bundle
}

// SecretsFile returns the SOPS file with the secrets of an environment's machines.
func SecretsFile(environment string) string {
	return secrets.Folder + "/" + environment + "-talos.enc.yaml"
}

// Load reads cluster.yaml.
func Load(r *run.Run) (*cluster.Cluster, error) {
	c, warnings, err := cluster.Load(os.DirFS(r.Repository), r.Env)
	if errors.Is(err, cluster.ErrNone) {
		return nil, fault.Refuse("$EDITOR "+printable.Word(cluster.Path(r.Env))+"   # its keys: environments/cluster.schema.json", "environment %s has no cluster: there is no %s", r.Env, cluster.Path(r.Env))
	}
	if err != nil {
		return nil, err
	}
	warn(r, warnings)
	return c, nil
}

func warn(r *run.Run, warnings []string) {
	for _, w := range warnings {
		r.Say("note: %s", run.Word(w))
	}
}

// Open reads everything: the file, the secrets, and nodes that layers list.
func Open(ctx context.Context, r *run.Run) (*Cluster, error) {
	spec, err := Load(r)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Run: r, Spec: spec}
	if c.Secrets, err = OpenSecrets(r, spec); err != nil {
		return nil, err
	}
	if len(spec.Nodes) > 0 {
		return c, nil
	}
	err = layer.Each(ctx, r, func(l *layer.Layer) error {
		outputs, err := l.Outputs(ctx)
		if err != nil {
			return err
		}
		output, there := outputs[cluster.NodesOutput]
		if !there {
			return nil
		}
		if output.Sensitive {
			return fault.Refuse("$EDITOR "+printable.Word(l.Environment.Dir(l.Config)), "the output %s of %s is sensitive, and a plan has to show it", cluster.NodesOutput, l.Name)
		}
		return spec.AddNodes(l.Name, json.RawMessage(output.Value))
	})
	if err != nil {
		return nil, err
	}
	warnings, err := spec.Complete(os.DirFS(r.Repository))
	warn(r, warnings)
	return c, err
}

// OpenSecrets decrypts the secrets of the machines, and masks them.
func OpenSecrets(r *run.Run, spec *cluster.Cluster) (*machine.Bundle, error) {
	name := SecretsFile(r.Env)
	data, err := os.ReadFile(filepath.Join(r.Repository, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Refuse("dagger call -y cluster secrets --env="+r.Env, "there is no file %s with the secrets of the machines", name)
	}
	if err != nil {
		return nil, err
	}
	return ReadSecrets(r, spec, name, data, r.Identity)
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

// Config returns the configuration that a node is to have.
func (c *Cluster) Config(n cluster.Node) (config.Provider, error) {
	names := c.Spec.PatchesOf(n)
	var patches [][]byte
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(c.Repository, "environments", c.Env, name))
		if err != nil {
			return nil, err
		}
		patches = append(patches, data)
	}
	provider, err := talos.Render(c.Spec, n, c.Secrets, patches...)
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

// oneLine joins the lines of a list of errors.
func oneLine(err error) string {
	return printable.Terminal(strings.Join(strings.Fields(err.Error()), " "))
}
