package sealedplan

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"slipway/internal/approval"
	"slipway/internal/fault"
	"slipway/internal/run"
)

// RefuseUnapproved refuses a plan of a protected environment that nobody has approved: by its
// digest and, if there are reviewers, by the signature of one of them.
func (s *Source) RefuseUnapproved(ctx context.Context, r *run.Run, digest string) error {
	if !r.Environment.Protected {
		return nil
	}
	if len(r.Environment.Approvers) == 0 {
		if s.Digest == "" {
			return fault.Refuse(fmt.Sprintf("review it: %s; then: dagger call apply --env=%s%s --digest=sha256:…", s.PlanCommand(r), r.Env, s.Options(r)),
				"environment %s is protected, and --digest does not say which plan was reviewed", r.Env)
		}
		return nil
	}
	objects, err := r.Store.List(ctx, approvals(r, digest))
	if err != nil {
		return err
	}
	why := "nobody has signed it"
	for _, o := range objects {
		data, err := r.Store.Read(ctx, o.Key)
		if err != nil {
			return err
		}
		by, err := approval.Check(digest, data, r.Environment.Approvers)
		if err == nil {
			fmt.Fprintf(&r.Report, "%s: approved by %s\n", r.Env, by.Name)
			return nil
		}
		why = err.Error()
	}
	return fault.Refuse(s.ApproveCommand(r, digest), "the plan %s of %s has no approval: %s", digest, r.Env, why)
}

// ApproveCommand returns the command that approves the plan.
func (s *Source) ApproveCommand(r *run.Run, digest string) string {
	return fmt.Sprintf("dagger call approve --env=%s%s --digest=%s --key=file://$HOME/.ssh/id_ed25519", r.Env, s.Options(r), digest)
}

// Approve stores a signature of the plan's digest, and returns the name of the signer.
func (s *Source) Approve(ctx context.Context, r *run.Run, digest string, signature []byte) (name string, err error) {
	by, err := approval.Check(digest, signature, r.Environment.Approvers)
	if err != nil {
		return "", fault.Refuse("sign with a key of environment.yaml: "+s.ApproveCommand(r, digest), "the signature is not accepted: %v", err)
	}
	file := strings.NewReplacer("/", "_", "+", "-").Replace(strings.TrimPrefix(ssh.FingerprintSHA256(by.Key), "SHA256:"))
	return by.Name, r.Store.Write(ctx, approvals(r, digest)+file+".sig", signature)
}

// approvals returns the folder in the bucket for the signatures of a plan.
func approvals(r *run.Run, digest string) string {
	return "plans/" + r.Env + "/approvals/" + strings.TrimPrefix(digest, "sha256:") + "/"
}
