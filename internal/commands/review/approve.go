package review

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"slipway/internal/approval"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/layer"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
)

type approveOptions struct {
	plan       sealedplan.Source
	signingKey string // file with the reviewer's private SSH key
	signature  string // file with a signature made by ssh-keygen
}

// Approve signs the digest of a plan with a reviewer's key, or accepts a signature made by
// ssh-keygen.
func Approve() run.Command {
	var o approveOptions
	return run.Command{
		Name: "approve", Help: "sign the plan stored for these files, or an exported one",
		Opens: run.State, ByLayer: true, WithCluster: true, Reads: true,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&o.plan.Folder, "plan", "", "results of an earlier plan, instead of the stored plan")
			f.StringVar(&o.plan.Digest, "digest", "", "digest of the reviewed plan")
			f.StringVar(&o.signingKey, "signing-key", "/run/secrets/signing-key", "file with the reviewer's private SSH key")
			f.StringVar(&o.signature, "signature", "/run/signature", "file with a signature made by ssh-keygen")
		},
		Run: func(ctx context.Context, r *run.Run) error { return approve(ctx, r, o) },
	}
}

func approve(ctx context.Context, r *run.Run, o approveOptions) error {
	source := o.plan
	if len(r.Environment.Approvers) == 0 {
		return fault.Refuse("$EDITOR environments/"+r.Env+"/environment.yaml", "environment %s names no reviewers", r.Env)
	}
	if source.Digest == "" {
		return fault.Refuse("dagger call plan --env="+r.Env+" --keep   # shows it", "no digest was given")
	}
	if err := source.CheckDigest(r); err != nil {
		return err
	}
	layers, err := layer.All(r)
	if err != nil {
		return err
	}
	var c *sealedplan.Cluster
	if clusters.Chosen(r) {
		opened, err := clusters.Read(r)
		if err != nil {
			return err
		}
		c = opened.Part()
	}
	found, err := source.Find(ctx, r, layers, c)
	if err != nil {
		return err
	}
	digest := found.Digest
	signature, err := signatureOf(r, o)
	if err != nil {
		return err
	}
	name, err := source.Approve(ctx, r, digest, signature)
	if err != nil {
		return err
	}
	fmt.Fprintf(&r.Report, "%s: the plan %s is approved by %s; next: dagger call apply --env=%s%s --digest=%s\n", r.Env, digest, name, r.Env, source.Options(r), digest)
	return nil
}

// signatureOf returns the given signature, or one made with the given key.
func signatureOf(r *run.Run, o approveOptions) ([]byte, error) {
	signature, err := os.ReadFile(o.signature)
	if err == nil {
		return signature, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	digest := o.plan.Digest
	withKey := o.plan.ApproveCommand(r, digest)
	bySSH := fmt.Sprintf("echo %s | ssh-keygen -Y sign -n %s -f ~/.ssh/id_ed25519 >approval.sig && dagger call approve --env=%s%s --digest=%s --signature=approval.sig",
		digest, approval.Namespace, r.Env, o.plan.Options(r), digest)
	data, err := os.ReadFile(o.signingKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Refuse(withKey, "neither a key nor a signature was given")
	}
	if err != nil {
		return nil, err
	}
	r.Mask.Add(strings.Split(string(data), "\n")...)
	key, err := approval.ParseKey(data)
	if errors.Is(err, approval.ErrPassphrase) {
		return nil, fault.Refuse(bySSH, "%v", err)
	}
	if err != nil {
		return nil, fault.Refuse(withKey, "the given key cannot be used: %v", err)
	}
	return approval.Sign(digest, key)
}
