package apply

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/sealedplan"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// A protected environment takes only a plan that was reviewed, and so does who names the
// digest of one. That of an environment without a bucket is in a folder.
func TestApplyTakes(t *testing.T) {
	testkit.WithoutTofu(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	const none, noBucket, nowhere = "there is no plan of test in bucket state", "the state of test is not in a bucket, so no plan is stored there", "there is no plan of test in the folder given with --plan"
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		protected, http bool
		o               options
		message         string // empty: it makes a plan
	}{
		"open":                                 {},
		"open, over HTTP":                      {http: true},
		"protected":                            {protected: true, message: none},
		"protected, over HTTP":                 {protected: true, http: true, message: noBucket},
		"with a digest":                        {o: options{plan: sealedplan.Source{Digest: digest}}, message: none},
		"with a digest, over HTTP":             {http: true, o: options{plan: sealedplan.Source{Digest: digest}}, message: noBucket},
		"the plan that is kept":                {o: options{reviewed: true}, message: none},
		"a plan":                               {o: options{plan: sealedplan.Source{Folder: "/nowhere"}}, message: nowhere},
		"a plan, protected and over HTTP":      {protected: true, http: true, o: options{plan: sealedplan.Source{Folder: "/nowhere"}}, message: nowhere},
		"a plan, with a digest, and over HTTP": {http: true, o: options{plan: sealedplan.Source{Folder: "/nowhere", Digest: digest}}, message: nowhere},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			more := ""
			if c.protected {
				more = "protected: true\n"
			}
			if c.http {
				d.Store = nil
				d.WithCodeOf("state:\n  http: {address: \"" + server.URL + "\"}\n" + more)
			} else {
				d.WithCode(more)
			}
			if err := apply(t.Context(), d.Opened(), c.o); c.message != "" {
				must.Refuse(t, err, c.message, "dagger call ")
			} else {
				must.NotStarted(t, err, "init")
			}
		})
	}
}

// A change begins with init, and never beside another run.
func TestChangeBegins(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.WithCode("")
	d.Opened()
	d.Dir = d.Path("repository")
	must.Do(t, os.MkdirAll(d.Dir, 0o700))
	_, err := change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must.NotStarted(t, err, "init")
	d = testkit.New(t)
	d.Other(journal.Header{ID: "you", Stage: "apply"})
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	must.Refuse(t, err, "is in use by run you", "dagger call unlock")
}
