package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"slipway/internal/cluster"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/marker"
	"slipway/internal/pins"
	"slipway/internal/state"
)

// OpenCredentials reads the environment and decrypts its credentials. It does not query a server.
func (r *Run) OpenCredentials() (err error) {
	repository := os.DirFS(r.Repository)
	if r.Environment, err = environment.Load(repository, r.Env); err != nil {
		return err
	}
	if err := r.refuseLayer(); err != nil {
		return err
	}
	files, err := r.credentialFiles()
	if err != nil {
		return err
	}
	if r.Identity, err = ReadIdentity(r.IdentityFile, r.Mask); err != nil {
		return err
	}
	if err := r.openFiles(repository, files); err != nil {
		return err
	}
	if err := refuseUnset(repository, files, r.Credentials); err != nil {
		return err
	}
	if n := r.Mask.TooShort(); n > 0 {
		r.Say("note: %d of the credentials are shorter than 4 characters and cannot be masked", n)
	}
	if r.Recipients, err = ownRecipients(repository, r.Environment); err != nil {
		return err
	}
	if r.Environment.State.S3 == nil {
		return nil
	}
	for _, variable := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if r.Credentials[variable] == "" {
			return fault.Refuse(r.SetCommand(variable), "the credentials of %s have no %s, which is needed for the state's bucket", r.Env, variable)
		}
	}
	r.Store = state.Open(r.Bucket())
	return nil
}

func (r *Run) refuseLayer() error {
	if r.OnlyLayer == "" {
		return nil
	}
	var names []string
	for _, l := range r.Environment.Layers {
		names = append(names, r.Environment.LayerName(l))
	}
	if r.command.WithCluster && r.HasCluster() {
		names = append(names, cluster.FileName)
	}
	if !slices.Contains(names, r.OnlyLayer) {
		return fault.Refuse(fmt.Sprintf("the layers of %s are %s", r.Env, strings.Join(names, ", ")), "environment %s has no layer %q", r.Env, r.OnlyLayer)
	}
	return nil
}

// HasCluster reports whether the environment has a cluster.
func (r *Run) HasCluster() bool {
	_, err := os.Stat(filepath.Join(r.Repository, cluster.Path(r.Env)))
	return err == nil
}

// OpenStore checks that the store belongs to the environment, before any tool starts.
func (r *Run) OpenStore(ctx context.Context) error {
	// Refuses a missing or weak passphrase.
	if _, err := r.Encryption(); err != nil {
		return err
	}
	if r.Store == nil {
		return nil
	}
	data, err := r.Store.Read(ctx, r.MarkerKey())
	if errors.Is(err, state.ErrNone) {
		return fault.Refuse("dagger call bootstrap --env="+r.Env, "%s has not been prepared for environment %s", r.Store.Name(), r.Env)
	}
	if err != nil {
		return err
	}
	return r.CheckMarker(data)
}

// MarkerKey returns the key of the object that marks the store as the environment's.
func (r *Run) MarkerKey() string { return r.Env + "/environment.json" }

// CheckMarker refuses the marker of another environment, or one created with another passphrase.
func (r *Run) CheckMarker(data []byte) error {
	m, err := marker.Read(data)
	if err != nil {
		return fmt.Errorf("the marker %s in %s: %w", r.MarkerKey(), r.Store.Name(), err)
	}
	if m.Environment != r.Env {
		return fault.Refuse("$EDITOR environments/"+r.Env+"/environment.yaml", "%s belongs to environment %q", r.Store.Name(), m.Environment)
	}
	for _, variable := range []string{state.Passphrase, state.PreviousPassphrase} {
		if m.ProvedBy(r.Credentials[variable]) {
			return nil
		}
	}
	return fault.Refuse("git log -p -- "+r.ownFile(), "%s in the credentials of %s is not the passphrase that encrypts its state", state.Passphrase, r.Env)
}

// Encryption returns the value of TF_ENCRYPTION. It fails if the passphrase is missing or weak.
func (r *Run) Encryption() (string, error) {
	return state.Encryption(r.Credentials[state.Passphrase], r.Credentials[state.PreviousPassphrase])
}

// Bucket returns where the state is stored, with the keys for it.
func (r *Run) Bucket() state.S3 {
	store := r.Environment.State.S3
	return state.S3{
		Bucket: store.Bucket, Endpoint: store.Endpoint, Region: store.Region,
		AccessKey: r.Credentials["AWS_ACCESS_KEY_ID"], SecretKey: r.Credentials["AWS_SECRET_ACCESS_KEY"],
	}
}

// Server returns the server for a state that is not in a bucket.
func (r *Run) Server() state.HTTP {
	if r.Environment.State.HTTP == nil {
		return state.HTTP{}
	}
	return state.HTTP{Address: r.Environment.State.HTTP.Address, Username: r.Credentials["TF_HTTP_USERNAME"], Password: r.Credentials["TF_HTTP_PASSWORD"]}
}

// StateStamp reads the stamp of a state. It is zero if there is no state yet.
func (r *Run) StateStamp(ctx context.Context, key string) (state.Stamp, error) {
	read := r.Server().Stamp
	if r.Store != nil {
		read = r.Store.Stamp
	}
	stamp, err := read(ctx, key)
	if errors.Is(err, state.ErrNone) {
		err = nil
	}
	return stamp, err
}

// Pins returns the images from which this container was built; nil if there is no pins file.
func (r *Run) Pins() ([]pins.Pin, error) {
	if r.PinsFile == "" {
		return nil, nil
	}
	list, err := pins.ReadFile(r.PinsFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// BuildsProviders reports whether this machine builds the providers from source. Their checksums
// then differ from those of every other machine.
func (r *Run) BuildsProviders() (bool, error) {
	list, err := r.Pins()
	return slices.ContainsFunc(list, func(p pins.Pin) bool { return p.Name == "PROVIDERS" }), err
}
