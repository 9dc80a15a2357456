package clusters

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"flag"
	"os"
	"strings"
	"time"

	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/run"
	"slipway/internal/talos"
)

// Kubeconfig makes a kubeconfig for an administrator.
func Kubeconfig() run.Command {
	var l loginFlags
	return run.Command{
		Name: "cluster-kubeconfig", Help: "make a short-lived kubeconfig for an administrator, sealed with a key of the call",
		Opens: run.Credentials, // the cluster can be entered while the store is down
		Flags: l.add,
		Run:   func(_ context.Context, r *run.Run) error { return makeKubeconfig(r, l) },
	}
}

func makeKubeconfig(r *run.Run, l loginFlags) error {
	lifetime, key, err := l.read(again(r, "kubeconfig", "~/.kube/"))
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
	return leaveSealed(c, made, key)
}

// Talosconfig makes a talosconfig for an administrator.
func Talosconfig() run.Command {
	var l loginFlags
	return run.Command{
		Name: "cluster-talosconfig", Help: "make a short-lived talosconfig for an administrator, sealed with a key of the call",
		Opens: run.State, // layers may list the nodes
		Flags: l.add,
		Run:   func(ctx context.Context, r *run.Run) error { return makeTalosconfig(ctx, r, l) },
	}
}

func makeTalosconfig(ctx context.Context, r *run.Run, l loginFlags) error {
	lifetime, key, err := l.read(again(r, "talosconfig", "~/.talos/"))
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
	return leaveSealed(c, made, key)
}

// again is the call that makes a login and puts it into a folder, for its owner alone.
func again(r *run.Run, function, folder string) string {
	return "(umask 077; dagger call cluster " + function + " --env=" + r.Env + " --for=8h plaintext >" + folder + r.Env + ")"
}

// loginFlags say how long a login is valid, and which key seals it.
type loginFlags struct {
	lifetime, keyFile string
}

func (l *loginFlags) add(f *flag.FlagSet) {
	f.StringVar(&l.lifetime, "for", "8h", "lifetime of the certificate, from 1m to 168h")
	f.StringVar(&l.keyFile, "login-key", "/run/secrets/login-key", "file with the key that seals the login: 32 bytes in base64")
}

// The shortest and the longest lifetime of a login.
const (
	shortest = time.Minute
	longest  = 7 * 24 * time.Hour
)

// read reads the key, and refuses flags that are not usable, with a hint.
func (l *loginFlags) read(hint string) (lifetime time.Duration, key []byte, err error) {
	lifetime, err = time.ParseDuration(l.lifetime)
	if err != nil || lifetime < shortest || lifetime > longest {
		return 0, nil, fault.Refuse(hint, "--for is %q, want a duration from 1m to 168h, such as 8h", l.lifetime)
	}
	text, err := os.ReadFile(l.keyFile)
	if err != nil {
		return 0, nil, fault.Refuse(hint, "there is no key to seal the login with: a login is never shown in the clear: %v", err)
	}
	key, err = base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keyBytes {
		return 0, nil, fault.Refuse(hint, "the key that seals the login, %s, is not %d bytes in base64", l.keyFile, keyBytes)
	}
	return lifetime, key, nil
}

// keyBytes is the size of a key of AES-256.
const keyBytes = 32

// leaveSealed leaves a login, sealed with the key. The engine keeps all that a run prints or writes on its
// disk, unencrypted.
func leaveSealed(c *clusters.Cluster, made talos.Login, key []byte) error {
	c.Mask.Add(made.Key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	sealed := box.Seal(nil, nil, made.File, nil)
	c.Say("login to %s: valid until %s", run.Word(c.Spec.Name), run.Word(made.Until.UTC().Format(time.DateTime)+" UTC"))
	return c.Leave("sealed", []byte(base64.StdEncoding.EncodeToString(sealed)))
}
