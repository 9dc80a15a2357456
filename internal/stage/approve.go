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

func (s *Run) reads() bool { return slices.Contains(readers, s.Result.Stage) }

// credentialFiles are those that the stage opens.
func (s *Run) credentialFiles() []string {
	if s.reads() {
		return s.Environment.FilesToPlan()
	}
	return s.Environment.CredentialFiles
}

func (s *Run) needCredentials() error {
	if s.reads() {
		return s.Environment.NeedPlanCredentials()
	}
	return s.Environment.NeedCredentials()
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// CheckDigest refuses what cannot be the digest of a plan.
func (s *Run) CheckDigest() error {
	if s.Digest != "" && !digestPattern.MatchString(s.Digest) {
		return refusal.New("dagger call plan --env="+s.Env+" --keep   # shows it", "--digest is %q, which is no digest of a plan", s.Digest)
	}
	return nil
}

// Find are the plans that there are of the chosen roots, verified, and their digest.
func (s *Run) Find(ctx context.Context, roots []*Layer) (plans []Sealed, digest string, err error) {
	var parts []manifest.Part
	for _, r := range roots {
		p, err := r.Verify(ctx)
		if err != nil {
			return nil, "", err
		}
		plans = append(plans, p)
		parts = append(parts, manifest.Part{Layer: r.Name, Data: p.data})
	}
	return plans, manifest.PlanDigest(s.Env, parts), nil
}

// RefuseOther refuses a plan that is not the one whose digest is named.
func (s *Run) RefuseOther(plans []Sealed, digest string) error {
	if s.Digest == "" || s.Digest == digest {
		return nil
	}
	p := plans[0]
	return s.Refuse("the plan of %s that is there has the digest %s, by run %s at %s, and not %s", s.Env, digest, p.RunID, p.Created.Format("2006-01-02 15:04:05"), s.Digest)
}

// RefuseUnapproved refuses a plan of a protected environment that nobody has approved: by
// its digest, and where there are reviewers by the signature of one.
func (s *Run) RefuseUnapproved(ctx context.Context, digest string) error {
	if !s.Environment.Protected {
		return nil
	}
	if len(s.Environment.Approvers) == 0 {
		if s.Digest == "" {
			return refusal.New(fmt.Sprintf("look at it: %s; then: dagger call apply --env=%s%s --digest=sha256:…", s.PlanCommand(), s.Env, s.PlanOption()),
				"environment %s is protected, and --digest does not say which plan was reviewed", s.Env)
		}
		return nil
	}
	objects, err := s.Store.List(ctx, s.Approvals(digest))
	if err != nil {
		return err
	}
	why := "nobody has signed it"
	for _, o := range objects {
		data, err := s.Store.Read(ctx, o.Key)
		if err != nil {
			return err
		}
		by, err := approval.Check(digest, data, s.Environment.Approvers)
		if err == nil {
			fmt.Fprintf(&s.Report, "%s: approved by %s\n", s.Env, by.Name)
			return nil
		}
		why = err.Error()
	}
	return refusal.New(s.ApproveCommand(digest), "the plan %s of %s has no approval: %s", digest, s.Env, why)
}

func (s *Run) ApproveCommand(digest string) string {
	return fmt.Sprintf("dagger call approve --env=%s%s --digest=%s --key=file://$HOME/.ssh/id_ed25519", s.Env, s.PlanOption(), digest)
}

// PlanOption is what the command at hand has of it besides.
func (s *Run) PlanOption() string {
	option := ""
	if s.OnlyLayer != "" {
		option = " --layer=" + s.OnlyLayer
	}
	if s.PlanFolder != "" {
		option += " --plan=.slipway/plan"
	}
	return option
}

// Approvals is the folder in the bucket of the signatures of a plan.
func (s *Run) Approvals(digest string) string {
	return "plans/" + s.Env + "/approvals/" + strings.TrimPrefix(digest, "sha256:") + "/"
}

// approve signs the digest of the plan that is kept, with a reviewer's key, or takes a
// signature that ssh-keygen made.
func (s *Run) approve(ctx context.Context) error {
	if err := s.Timed("open", func() error { return s.Open(ctx) }); err != nil {
		return err
	}
	if len(s.Environment.Approvers) == 0 {
		return refusal.New("$EDITOR environments/"+s.Env+"/environment.yaml", "environment %s names no reviewers", s.Env)
	}
	if s.Digest == "" {
		return refusal.New("dagger call plan --env="+s.Env+" --keep   # shows it", "no digest is named")
	}
	if err := s.CheckDigest(); err != nil {
		return err
	}
	roots, err := s.Layers()
	if err != nil {
		return err
	}
	plans, digest, err := s.Find(ctx, roots)
	if err != nil {
		return err
	}
	if err := s.RefuseOther(plans, digest); err != nil {
		return err
	}
	signature, err := s.signature()
	if err != nil {
		return err
	}
	by, err := approval.Check(digest, signature, s.Environment.Approvers)
	if err != nil {
		return refusal.New("sign with a key of environment.yaml: "+s.ApproveCommand(digest), "the signature is not taken: %v", err)
	}
	name := strings.NewReplacer("/", "_", "+", "-").Replace(strings.TrimPrefix(ssh.FingerprintSHA256(by.Key), "SHA256:"))
	if err := s.Store.Write(ctx, s.Approvals(digest)+name+".sig", signature); err != nil {
		return err
	}
	fmt.Fprintf(&s.Report, "%s: the plan %s is approved by %s; next: dagger call apply --env=%s%s --digest=%s\n", s.Env, digest, by.Name, s.Env, s.PlanOption(), digest)
	return nil
}

// signature is the one that was given, or is made with the key that was.
func (s *Run) signature() ([]byte, error) {
	signature, err := os.ReadFile(s.Signature)
	if err == nil {
		return signature, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	bySSH := fmt.Sprintf("echo %s | ssh-keygen -Y sign -n %s -f ~/.ssh/id_ed25519 >approval.sig && dagger call approve --env=%s%s --digest=%s --signature=approval.sig",
		s.Digest, approval.Namespace, s.Env, s.PlanOption(), s.Digest)
	data, err := os.ReadFile(s.SigningKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refusal.New(s.ApproveCommand(s.Digest), "neither a key nor a signature is given")
	}
	if err != nil {
		return nil, err
	}
	s.Add(strings.Split(string(data), "\n")...)
	key, err := approval.ParseKey(data)
	if errors.Is(err, approval.ErrPassphrase) {
		return nil, refusal.New(bySSH, "%v", err)
	}
	if err != nil {
		return nil, refusal.New(s.ApproveCommand(s.Digest), "the key that is given cannot be used: %v", err)
	}
	return approval.Sign(s.Digest, key)
}
