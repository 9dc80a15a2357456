package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"golang.org/x/crypto/nacl/box"

	"dagger/slipway/internal/dagger"
)

// login runs a command that makes a login to the cluster, and returns it as a secret.
//
// The engine keeps all that a command prints or writes on its disk, unencrypted. So the command seals the login to a
// public key, whose private half is in the memory of this call alone.
func (c *Cluster) login(ctx context.Context, env, command, lifetime string) (*dagger.Secret, error) {
	public, private, err := box.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	t, err := c.Slipway.target(ctx, env)
	if err != nil {
		return nil, err
	}
	o, err := t.runUncached(ctx, command, "--for="+lifetime, "--seal-to="+base64.StdEncoding.EncodeToString(public[:]))
	if err != nil {
		return nil, err
	}
	text, err := o.out.File("sealed").Contents(ctx)
	if err != nil {
		return nil, err
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	opened, ok := box.OpenAnonymous(nil, sealed, public, private)
	if !ok {
		return nil, errors.New("the login is sealed to another key, or damaged")
	}
	return dag.SetSecret(command+"-"+env+"-"+rand.Text(), string(opened)), nil
}
