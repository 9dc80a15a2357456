package sealedplan

import (
	"crypto/ed25519"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"slipway/internal/approval"
	"slipway/internal/fault"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

// A plan of a protected environment needs its digest, or the signature of a reviewer.
func TestApprovals(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	key, err := ssh.NewSignerFromKey(private)
	must.Do(t, err)
	digest, other := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	signature, err := approval.Sign(digest, key)
	must.Do(t, err)

	d := testkit.New(t)
	source := &Source{}
	must.Do(t, source.RefuseUnapproved(t.Context(), d.Run, digest)) // it is not protected
	d.Environment.Protected = true
	must.Refuse(t, source.RefuseUnapproved(t.Context(), d.Run, digest), "environment test is protected, and --digest does not say which plan was reviewed", "dagger call apply --env=test --digest=sha256:…")
	source.Digest = digest
	must.Do(t, source.RefuseUnapproved(t.Context(), d.Run, digest))

	_, err = source.Approve(t.Context(), d.Run, digest, signature)
	must.Refuse(t, err, "the signature is not accepted: ", "dagger call approve --env=test --digest="+digest)
	d.Environment.Approvers = []approval.Reviewer{{Name: "alice", Key: key.PublicKey()}}
	must.Refuse(t, source.RefuseUnapproved(t.Context(), d.Run, digest), "the plan "+digest+" of test has no approval: nobody has signed it", "dagger call approve --env=test --digest="+digest)
	must.Do(t, d.Store.Write(t.Context(), approvals(d.Run, digest)+"a.sig", []byte("x")))
	if err := source.RefuseUnapproved(t.Context(), d.Run, digest); !fault.Is(err, fault.Refused) || strings.Contains(err.Error(), "nobody has signed it") {
		t.Errorf("with what is no signature: %v", err)
	}
	name, err := source.Approve(t.Context(), d.Run, digest, signature)
	must.Do(t, err)
	must.Do(t, source.RefuseUnapproved(t.Context(), d.Run, digest))
	if d.Says("test: approved by alice\n"); name != "alice" {
		t.Errorf("it is signed by %q", name)
	}
	must.Refuse(t, source.RefuseUnapproved(t.Context(), d.Run, other), "nobody has signed it", "")

	// A store that fails is no proof that nobody has signed it.
	for _, of := range []string{"list-type", ".sig"} {
		d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			refused := strings.Contains(r.URL.String(), of)
			if refused {
				w.WriteHeader(http.StatusForbidden)
			}
			return refused
		}
		if err := source.RefuseUnapproved(t.Context(), d.Run, digest); err == nil || fault.Is(err, fault.Refused) {
			t.Errorf("%s: %v", of, err)
		}
	}
}
