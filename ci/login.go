package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"dagger/slipway/internal/dagger"
)

// login runs a command that makes a login to the cluster, and returns it as a secret.
//
// The engine keeps all that a command prints or writes on its disk, unencrypted. So the command seals the login with
// a key of this call, which the engine has in its memory alone.
func (c *Cluster) login(ctx context.Context, env, command, lifetime string) (*dagger.Secret, error) {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	t, err := c.Slipway.target(ctx, env)
	if err != nil {
		return nil, err
	}
	t.container = t.container.WithMountedSecret("/run/secrets/login-key", dag.SetSecret("login-key-"+rand.Text(), base64.StdEncoding.EncodeToString(key)))
	o, err := t.runUncached(ctx, command, "--for="+lifetime)
	if err != nil {
		return nil, err
	}
	text, err := o.out.File("sealed").Contents(ctx)
	if err != nil {
		return nil, err
	}
	opened, err := open(text, key)
	if err != nil {
		return nil, err
	}
	return dag.SetSecret(command+"-"+env+"-"+rand.Text(), string(opened)), nil
}

// open opens a login: base64 of AES-256 in Galois/Counter Mode, after a random nonce.
func open(text string, key []byte) ([]byte, error) {
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	opened, err := box.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("the login is sealed with another key, or damaged: %w", err)
	}
	return opened, nil
}
