package report

import (
	"strings"
	"testing"
)

// The comment says which plan it shows, of each environment that has one.
func TestDigest(t *testing.T) {
	const one, two = "sha256:1111", "sha256:2222"
	layers := []Layer{{Name: "main"}}
	got := Markdown(Report{Environments: []Environment{
		{Name: "test", Digest: one, Layers: layers}, {Name: "prod", Digest: two, Layers: layers}, {Name: "broken", Error: "no"},
	}}, 1<<16)
	for _, want := range []string{"The plan of `test` is `" + one + "`.\n", "The plan of `prod` is `" + two + "`.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "The plan of `broken`") {
		t.Errorf("it shows a plan that is not there:\n%s", got)
	}
	if got := Markdown(Report{Environments: []Environment{{Name: "x", Digest: "`\n# @all", Layers: layers}}}, 1<<16); strings.Contains(got, "\n# @all") {
		t.Errorf("a digest is more than text:\n%s", got)
	}
}
