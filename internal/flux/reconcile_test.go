package flux

import "testing"

func TestSourceOf(t *testing.T) {
	const head = "kind: X\nmetadata: {name: a, namespace: here}\n"
	for name, c := range map[string]struct{ text, want string }{
		"of a Kustomization":       {head + "spec: {sourceRef: {kind: GitRepository, name: g}}", "source.toolkit.fluxcd.io/v1 GitRepository here/g"},
		"in another namespace":     {head + "spec: {sourceRef: {apiVersion: x/v2, kind: GitRepository, name: g, namespace: there}}", "x/v2 GitRepository there/g"},
		"a chart of a release":     {head + "spec: {chartRef: {kind: OCIRepository, name: o}}", "source.toolkit.fluxcd.io/v1 OCIRepository here/o"},
		"of a release":             {head + "spec: {chart: {spec: {chart: c, sourceRef: {kind: HelmRepository, name: h}}}}", "source.toolkit.fluxcd.io/v1 HelmRepository here/h"},
		"a source itself has none": {head + "spec: {url: https://g}", ""},
	} {
		got := ""
		if s := SourceOf(new(parsed(t, c.text))); s != nil {
			got = s.GetAPIVersion() + " " + s.GetKind() + " " + s.GetNamespace() + "/" + s.GetName()
		}
		if got != c.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
