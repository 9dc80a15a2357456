// Package clusters contains the commands on an environment's Talos cluster.
package clusters

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	machine "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/talos"
)

// Secrets makes the secrets of a cluster's machines, straight into a SOPS file, or takes in those of a
// cluster that exists. Nobody sees them before they are encrypted.
func Secrets() run.Command {
	var env, from string
	return run.Command{
		Name: "cluster-secrets", Help: "create the secrets of a cluster's machines, or take in those of an existing one",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&env, "env", "", "folder below environments/")
			f.StringVar(&from, "from", "/run/secrets/from", "file with the secrets of an existing cluster, encrypted or not; none: new ones are made")
		},
		Run: func(_ context.Context, r *run.Run) error {
			r.Env, r.Result.Environment = env, env
			return makeSecrets(r, from)
		},
	}
}

func makeSecrets(r *run.Run, from string) error {
	c, err := clusters.Read(r)
	if err != nil {
		return err
	}
	spec := c.Spec
	name := cluster.SecretsFile(r.Env)
	given, err := takeIn(r, spec, from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(r.Repository, name))
	if err == nil {
		return compare(r, spec, name, data, given)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	recipients, err := secrets.Rule(r.Repository, name)
	if err != nil {
		return fault.Refuse("cp .sops.yaml.example .sops.yaml && $EDITOR .sops.yaml", "%v", err)
	}
	if given == nil {
		contract, err := talos.Contract(spec.Talos)
		if err != nil {
			return err
		}
		if given, err = talos.NewSecrets(contract); err != nil {
			return err
		}
	}
	plain, err := talos.WriteSecrets(given)
	if err != nil {
		return err
	}
	sealed, err := secrets.SealDocument(name, plain, recipients)
	if err != nil {
		return err
	}
	fmt.Fprintf(&r.Report, "%s: created, encrypted to %s\n", name, strings.Join(recipients, ", "))
	return r.LeaveChanged(name, sealed)
}

// takeIn reads the secrets of an existing cluster; nil: none were given.
func takeIn(r *run.Run, spec *cluster.Cluster, from string) (*machine.Bundle, error) {
	text, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const name = "given.yaml"
	_, err = secrets.Recipients(name, text)
	if errors.Is(err, secrets.ErrPlain) {
		return usable(clusters.ParseSecrets(r, spec, name, text))
	}
	identity, err := run.ReadIdentity(r.IdentityFile, r.Mask)
	if err != nil {
		return nil, err
	}
	return usable(clusters.ReadSecrets(r, spec, name, text, identity))
}

// usable names the flag in a refusal.
func usable(bundle *machine.Bundle, err error) (*machine.Bundle, error) {
	if refusal, ok := fault.Refusal(err); ok {
		return nil, fault.Refuse("talosctl gen secrets --from-controlplane-config=… makes it of a node's configuration", "the file of --from cannot be taken in: %s", strings.TrimPrefix(refusal.Error(), "given.yaml is not usable: "))
	}
	return bundle, err
}

// compare checks the secrets that are there already.
func compare(r *run.Run, spec *cluster.Cluster, name string, data []byte, given *machine.Bundle) error {
	identity, err := run.ReadIdentity(r.IdentityFile, r.Mask)
	if err != nil {
		return err
	}
	old, err := clusters.ReadSecrets(r, spec, name, data, identity)
	if err != nil {
		return err
	}
	if given != nil && !slices.Equal(talos.SecretsOf(old), talos.SecretsOf(given)) {
		return fault.Refuse("git log -- "+name, "%s already has the secrets of another cluster", name)
	}
	fmt.Fprintf(&r.Report, "%s: already there, and complete\n", name)
	return nil
}
