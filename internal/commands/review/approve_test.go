package review

import (
	"crypto/ed25519"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"slipway/internal/approval"
	"slipway/internal/fault"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/sealedplan"
	"slipway/internal/testkit"
	"slipway/internal/workspace"
)

// A reviewer signs the plan that has the digest. Whatever is missing for that is refused.
func TestApprove(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	must.Do(t, err)
	public, err := ssh.NewPublicKey(private.Public())
	must.Do(t, err)
	folder := t.TempDir()
	key := filepath.Join(folder, "key")
	must.Do(t, os.WriteFile(key, pem.EncodeToMemory(block), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(folder, "tofu"), []byte("is not started"), 0o700))
	t.Setenv("PATH", folder)

	d := testkit.New(t)
	d.WithCode("")
	r := d.Opened()
	layers, err := layer.All(r)
	must.Do(t, err)
	must.Do(t, workspace.Folder(r).Make("plans", "repository"))
	must.Do(t, workspace.Folder(r).Write(workspace.Inside(r, layers[0].PlanFile()), []byte("a plan")))
	sealer := sealedplan.Sealer{Keep: true, Lifetime: lifetime}
	must.Do(t, sealer.Check(r))
	must.Do(t, sealer.Seal(t.Context(), layers[0], plan.Summary{}, ""))
	digest, other := sealer.Digest(r), "sha256:"+strings.Repeat("1", 64)
	none := filepath.Join(folder, "none")
	by := func(digest, key string) error {
		return approve(t.Context(), r, approveOptions{plan: sealedplan.Source{Digest: digest}, signature: none, signingKey: key})
	}
	must.Refuse(t, by(digest, key), "environment test names no reviewers", "$EDITOR environments/test/environment.yaml")
	_, stranger, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	strange, err := ssh.NewPublicKey(stranger.Public())
	must.Do(t, err)
	r.Environment.Approvers = []approval.Reviewer{{Name: "bob", Key: strange}}
	must.Refuse(t, by(digest, key), "the signature is not accepted", "dagger call approve --env=test --digest="+digest)
	r.Environment.Approvers = append(r.Environment.Approvers, approval.Reviewer{Name: "alice", Key: public})
	must.Refuse(t, by("", key), "no digest was given", "dagger call plan --env=test --keep")
	must.Refuse(t, by("sha256:1", key), "which is not the digest of a plan", "")
	must.Refuse(t, by(other, key), "has the digest "+digest, "")
	must.Refuse(t, by(digest, none), "neither a key nor a signature was given", "")
	must.Do(t, by(digest, key))
	if text := r.Report.Masked(func(text string) string { return text }); !strings.Contains(text, "test: the plan "+digest+" is approved by alice; next: dagger call apply --env=test --digest="+digest+"\n") {
		t.Errorf("it says %s", text)
	}
	must.Do(t, os.WriteFile(filepath.Join(r.Repository, "environments/test/cluster.yaml"), []byte("x"), 0o600))
	if err := by(digest, key); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "cluster.yaml") {
		t.Errorf("with a cluster that cannot be read: %v", err)
	}
}

// A signature is taken as it is, or made with a key that is then masked.
func TestSignatureOf(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	must.Do(t, err)
	sealed, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("passphrase"))
	must.Do(t, err)
	text := string(pem.EncodeToMemory(block))
	folder := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	none := filepath.Join(folder, "none")
	plan := sealedplan.Source{Digest: "sha256:" + strings.Repeat("1", 64)}
	d := testkit.New(t)

	given, err := signatureOf(d.Run, approveOptions{plan: plan, signature: file("signature", "as it is"), signingKey: none})
	if err != nil || string(given) != "as it is" {
		t.Errorf("got %q, %v", given, err)
	}
	signature, err := signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: file("key", text)})
	if err != nil || !strings.Contains(string(signature), "BEGIN SSH SIGNATURE") {
		t.Errorf("got %q, %v", signature, err)
	}
	line := strings.Split(text, "\n")[1]
	if got := d.Mask.String("the key: " + line); strings.Contains(got, line) {
		t.Errorf("the key is shown: %s", got)
	}
	_, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: none})
	must.Refuse(t, err, "neither a key nor a signature was given", "dagger call approve --env=test")
	_, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: file("wrong", "x")})
	must.Refuse(t, err, "the given key cannot be used", "dagger call approve --env=test")
	_, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: file("sealed", string(pem.EncodeToMemory(sealed)))})
	must.Refuse(t, err, "passphrase", "ssh-keygen -Y sign")
	if _, err = signatureOf(d.Run, approveOptions{plan: plan, signature: folder}); err == nil {
		t.Error("a folder is a signature")
	}
	if _, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: folder}); err == nil {
		t.Error("a folder is a key")
	}
}
