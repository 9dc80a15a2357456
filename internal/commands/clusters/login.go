package clusters

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"flag"
	"time"

	"golang.org/x/crypto/nacl/box"

	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/run"
	"slipway/internal/talos"
)

// Kubeconfig makes a kubeconfig for an administrator.
func Kubeconfig() run.Command {
	var l loginFlags
	return run.Command{
		Name: "cluster-kubeconfig", Help: "make a short-lived kubeconfig for an administrator, sealed to a public key",
		Opens: run.Credentials, // the cluster can be entered while the store is down
		Flags: l.add,
		Run:   func(_ context.Context, r *run.Run) error { return makeKubeconfig(r, l) },
	}
}

func makeKubeconfig(r *run.Run, l loginFlags) error {
	lifetime, to, err := l.read(again(r, "kubeconfig", "~/.kube/"))
	if err != nil {
		return err
	}
	c, err := clusters.Read(r)
	if err != nil {
		return err
	}
	if err := c.NeedSecrets(); err != nil {
		return err
	}
	made, err := talos.Kubeconfig(c.Spec, c.Secrets, lifetime, "")
	if err != nil {
		return err
	}
	return leaveSealed(c, made, to)
}

// Talosconfig makes a talosconfig for an administrator.
func Talosconfig() run.Command {
	var l loginFlags
	return run.Command{
		Name: "cluster-talosconfig", Help: "make a short-lived talosconfig for an administrator, sealed to a public key",
		Opens: run.State, // layers may list the nodes
		Flags: l.add,
		Run:   func(ctx context.Context, r *run.Run) error { return makeTalosconfig(ctx, r, l) },
	}
}

func makeTalosconfig(ctx context.Context, r *run.Run, l loginFlags) error {
	lifetime, to, err := l.read(again(r, "talosconfig", "~/.talos/"))
	if err != nil {
		return err
	}
	c, err := clusters.Open(ctx, r)
	if err != nil {
		return err
	}
	made, err := talos.Talosconfig(c.Spec, c.Secrets, lifetime, "")
	if err != nil {
		return err
	}
	return leaveSealed(c, made, to)
}

// again is the call that makes a login and puts it into a folder, for its owner alone.
func again(r *run.Run, function, folder string) string {
	return "(umask 077; dagger call cluster " + function + " --env=" + r.Env + " --for=8h plaintext >" + folder + r.Env + ")"
}

// loginFlags say how long a login is valid, and who gets it.
type loginFlags struct {
	lifetime, to string
}

func (l *loginFlags) add(f *flag.FlagSet) {
	f.StringVar(&l.lifetime, "for", "8h", "lifetime of the certificate, from 1m to 168h")
	f.StringVar(&l.to, "seal-to", "", "public key of a NaCl box, in base64")
}

// The shortest and the longest lifetime of a login.
const (
	shortest = time.Minute
	longest  = 7 * 24 * time.Hour
)

// read refuses flags that are not usable, with a hint.
func (l *loginFlags) read(hint string) (lifetime time.Duration, to *[32]byte, err error) {
	lifetime, err = time.ParseDuration(l.lifetime)
	if err != nil || lifetime < shortest || lifetime > longest {
		return 0, nil, fault.Refuse(hint, "--for is %q, want a duration from 1m to 168h, such as 8h", l.lifetime)
	}
	key, err := base64.StdEncoding.DecodeString(l.to)
	if err != nil || len(key) != len(to) {
		return 0, nil, fault.Refuse(hint, "--seal-to is %q, want 32 bytes in base64: a login is never shown in the clear", l.to)
	}
	return lifetime, (*[32]byte)(key), nil
}

// leaveSealed leaves a login to the owner of a public key. The engine keeps all that a run prints or writes on its
// disk, unencrypted.
func leaveSealed(c *clusters.Cluster, made talos.Login, to *[32]byte) error {
	c.Mask.Add(made.Key)
	sealed, err := box.SealAnonymous(nil, made.File, to, rand.Reader)
	if err != nil {
		return err
	}
	c.Say("login to %s: valid until %s", run.Word(c.Spec.Name), run.Word(made.Until.UTC().Format(time.DateTime)+" UTC"))
	return c.Leave("sealed", []byte(base64.StdEncoding.EncodeToString(sealed)))
}
