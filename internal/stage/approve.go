package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"slipway/internal/approval"
	"slipway/internal/manifest"
	"slipway/internal/refusal"
)

// readers are the stages that change nothing but what is kept beside the states. They
// open the credentials that environment.yaml has for a plan.
var readers = []string{"plan", "approve", "drift", "output", "status", "state-list"}

func (s *session) reads() bool { return slices.Contains(readers, s.result.Stage) }

// credentialFiles are those that the stage opens.
func (s *session) credentialFiles() []string {
	if s.reads() {
		return s.environment.FilesToPlan()
	}
	return s.environment.CredentialFiles
}

func (s *session) needCredentials() error {
	if s.reads() {
		return s.environment.NeedPlanCredentials()
	}
	return s.environment.NeedCredentials()
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// checkDigest refuses what cannot be the digest of a plan.
func (s *session) checkDigest() error {
	if s.Digest != "" && !digestPattern.MatchString(s.Digest) {
		return refusal.New("dagger call plan --env="+s.Environment+" --keep   # shows it", "--digest is %q, which is no digest of a plan", s.Digest)
	}
	return nil
}

// found are the plans that there are of the chosen roots, verified, and their digest.
func (s *session) found(ctx context.Context, roots []*root) (plans []reviewed, digest string, err error) {
	var parts []manifest.Part
	for _, r := range roots {
		p, err := r.verify(ctx)
		if err != nil {
			return nil, "", err
		}
		plans = append(plans, p)
		parts = append(parts, manifest.Part{Layer: r.name, Data: p.data})
	}
	return plans, manifest.PlanDigest(s.Environment, parts), nil
}

// refuseOther refuses a plan that is not the one whose digest is named.
func (s *session) refuseOther(plans []reviewed, digest string) error {
	if s.Digest == "" || s.Digest == digest {
		return nil
	}
	p := plans[0]
	return s.refusePlan("the plan of %s that is there has the digest %s, by run %s at %s, and not %s", s.Environment, digest, p.RunID, p.Created.Format("2006-01-02 15:04:05"), s.Digest)
}

// refuseUnapproved refuses a plan of a protected environment that nobody has approved: by
// its digest, and where there are reviewers by the signature of one.
func (s *session) refuseUnapproved(ctx context.Context, digest string) error {
	if !s.environment.Protected {
		return nil
	}
	if len(s.environment.Approvers) == 0 {
		if s.Digest == "" {
			return refusal.New(fmt.Sprintf("look at it: %s; then: dagger call apply --env=%s%s --digest=sha256:…", s.planCommand(), s.Environment, s.planOption()),
				"environment %s is protected, and --digest does not say which plan was reviewed", s.Environment)
		}
		return nil
	}
	objects, err := s.store.List(ctx, s.approvals(digest))
	if err != nil {
		return err
	}
	why := "nobody has signed it"
	for _, o := range objects {
		data, err := s.store.Read(ctx, o.Key)
		if err != nil {
			return err
		}
		by, err := approval.Check(digest, data, s.environment.Approvers)
		if err == nil {
			fmt.Fprintf(&s.report, "%s: approved by %s\n", s.Environment, by.Name)
			return nil
		}
		why = err.Error()
	}
	return refusal.New(s.approveCommand(digest), "the plan %s of %s has no approval: %s", digest, s.Environment, why)
}

func (s *session) approveCommand(digest string) string {
	return fmt.Sprintf("dagger call approve --env=%s%s --digest=%s --key=file://$HOME/.ssh/id_ed25519", s.Environment, s.planOption(), digest)
}

// planOption is what the command at hand has of it besides.
func (s *session) planOption() string {
	option := ""
	if s.Layer != "" {
		option = " --layer=" + s.Layer
	}
	if s.Plan != "" {
		option += " --plan=.slipway/plan"
	}
	return option
}

// approvals is the folder in the bucket of the signatures of a plan.
func (s *session) approvals(digest string) string {
	return "plans/" + s.Environment + "/approvals/" + strings.TrimPrefix(digest, "sha256:") + "/"
}

// approve signs the digest of the plan that is kept, with a reviewer's key, or takes a
// signature that ssh-keygen made.
func (s *session) approve(ctx context.Context) error {
	if err := s.timed("open", func() error { return s.open(ctx) }); err != nil {
		return err
	}
	if len(s.environment.Approvers) == 0 {
		return refusal.New("$EDITOR environments/"+s.Environment+"/environment.yaml", "environment %s names no reviewers", s.Environment)
	}
	if s.Digest == "" {
		return refusal.New("dagger call plan --env="+s.Environment+" --keep   # shows it", "no digest is named")
	}
	if err := s.checkDigest(); err != nil {
		return err
	}
	roots, err := s.roots()
	if err != nil {
		return err
	}
	plans, digest, err := s.found(ctx, roots)
	if err != nil {
		return err
	}
	if err := s.refuseOther(plans, digest); err != nil {
		return err
	}
	signature, err := s.signature()
	if err != nil {
		return err
	}
	by, err := approval.Check(digest, signature, s.environment.Approvers)
	if err != nil {
		return refusal.New("sign with a key of environment.yaml: "+s.approveCommand(digest), "the signature is not taken: %v", err)
	}
	name := strings.NewReplacer("/", "_", "+", "-").Replace(strings.TrimPrefix(ssh.FingerprintSHA256(by.Key), "SHA256:"))
	if err := s.store.Write(ctx, s.approvals(digest)+name+".sig", signature); err != nil {
		return err
	}
	fmt.Fprintf(&s.report, "%s: the plan %s is approved by %s; next: dagger call apply --env=%s%s --digest=%s\n", s.Environment, digest, by.Name, s.Environment, s.planOption(), digest)
	return nil
}

// signature is the one that was given, or is made with the key that was.
func (s *session) signature() ([]byte, error) {
	signature, err := os.ReadFile(s.Signature)
	if err == nil {
		return signature, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	bySSH := fmt.Sprintf("echo %s | ssh-keygen -Y sign -n %s -f ~/.ssh/id_ed25519 >approval.sig && dagger call approve --env=%s%s --digest=%s --signature=approval.sig",
		s.Digest, approval.Namespace, s.Environment, s.planOption(), s.Digest)
	data, err := os.ReadFile(s.SigningKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refusal.New(s.approveCommand(s.Digest), "neither a key nor a signature is given")
	}
	if err != nil {
		return nil, err
	}
	s.hide(strings.Split(string(data), "\n")...)
	key, err := approval.ParseKey(data)
	if errors.Is(err, approval.ErrPassphrase) {
		return nil, refusal.New(bySSH, "%v", err)
	}
	if err != nil {
		return nil, refusal.New(s.approveCommand(s.Digest), "the key that is given cannot be used: %v", err)
	}
	return approval.Sign(s.Digest, key)
}
