package report

import (
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/plan"
)

var update = flag.Bool("update", false, "write the golden files")

// summary reduces a plan that testdata/generate made with the real OpenTofu.
func summary(t *testing.T, name string) plan.Summary {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var show []string
	if name == "values" {
		show = []string{"terraform_data.input"}
	}
	s, _, err := plan.Read(file, show...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// one is the report on a single layer.
func one(t *testing.T, name string) Report {
	t.Helper()
	return Report{Environments: []Environment{{Name: "local", Layers: []Layer{{Name: "local", Summary: summary(t, name)}}}}}
}

func many(t *testing.T) Report {
	t.Helper()
	return Report{Whole: "dagger call plan --env=prod", Environments: []Environment{
		{Name: "local", Layers: []Layer{{Name: "local", Summary: summary(t, "none")}}},
		{Name: "prod", Layers: []Layer{
			{Name: "01-network", Summary: summary(t, "drift")},
			{Name: "02-platform", Summary: summary(t, "actions"), Note: "will be planned again when 01-network has been applied"},
			{Name: "03-names", Summary: summary(t, "names")},
		}, Deployment: &Deployment{Run: "LTS4", Ended: time.Date(2026, 11, 24, 4, 52, 0, 0, time.UTC), Changed: []File{{"~", "ansible/playbooks/site.yml"}}}},
		{Name: "staging", Layers: []Layer{{Name: "staging", Summary: summary(t, "errored")}}},
		{Name: "test", Error: "the bucket slipway-test does not exist\nat @everyone|<b>", Hint: "dagger call bootstrap --env=test"},
	}}
}

func TestGolden(t *testing.T) {
	reports := map[string]Report{
		"many": many(t),
		"playbook": {Environments: []Environment{
			{Name: "preprod", Layers: []Layer{{Name: "preprod", Summary: summary(t, "none")}}, Deployment: &Deployment{}},
			{Name: "prod", Layers: []Layer{{Name: "prod", Summary: summary(t, "none")}}, Deployment: &Deployment{
				Run: "LTS4", Commit: "3f2a91c", Ended: time.Date(2026, 11, 24, 4, 52, 0, 0, time.UTC),
				Changed: []File{{"+", "ansible/roles/base/tasks/new.yml"}, {"~", "ansible/playbooks/site.yml"}, {"-", "ansible/``` @everyone\n<b>"}},
			}},
			{Name: "test", Layers: []Layer{{Name: "test", Summary: summary(t, "none")}}, Deployment: &Deployment{Run: "LTS4", Ended: time.Date(2026, 11, 24, 4, 52, 0, 0, time.UTC)}},
		}},
		"quiet": {Environments: []Environment{
			{Name: "prod", Layers: []Layer{{Name: "prod", Summary: summary(t, "none")}}},
			{Name: "test", Layers: []Layer{{Name: "test", Summary: summary(t, "none")}}},
		}},
		"warned": {Environments: []Environment{
			{Name: "prod", Layers: []Layer{{Name: "prod", Summary: summary(t, "none"), Warnings: []string{"warning: Deprecated attribute (module.a, main.tf:3)", "warning: ``` @everyone\n# x"}}}},
			{Name: "test", Layers: []Layer{{Name: "test", Summary: summary(t, "drift"), Warnings: []string{"warning: Resource will be removed from the state"}}}},
		}},
		"cluster": {Environments: []Environment{{Name: "test", Layers: []Layer{
			{Name: "test", Summary: summary(t, "none")},
			{Name: "cluster.yaml", Note: "compared with the nodes themselves", Warnings: []string{"old is no longer in cluster.yaml, and keeps its configuration"}, Summary: plan.Summary{Changes: []plan.Change{
				{Address: "new", Action: plan.Create, Values: []plan.Value{{Path: "role", New: "worker"}, {Path: "disk", New: "/dev/sda"}}},
				{Address: "a", Action: plan.Update, Restarts: true, Attributes: []string{"machine", "HostnameConfig: hostname", "machine.env.HTTPS_PROXY"}, Values: []plan.Value{
					{Path: "machine.sysctls.vm.swappiness", Old: "10", New: "20"}, {Path: "machine.sysctls.a", Removed: []string{"1"}}, {Path: "HostnameConfig: hostname", Added: []string{"a"}},
				}},
			}}},
		}}}},
		"failed": {Environments: []Environment{{Name: "test", Error: "the bucket slipway-test does not exist"}}},
	}
	for _, name := range []string{"actions", "drift", "errored", "names", "none", "values"} {
		reports[name] = one(t, name)
	}
	limits := map[string]int{"many-2000": 2000, "many-200": 200}
	for name, limit := range limits {
		reports[name] = many(t)
		limits[name] = limit
	}
	for name, r := range reports {
		limit, limited := limits[name]
		markdown, console := 65_536, math.MaxInt
		if limited {
			markdown, console = limit, limit
		}
		golden(t, name+".md", Markdown(r, markdown))
		golden(t, name+".txt", Console(r, console))
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if strings.Contains(got, "canary") {
		t.Errorf("%s holds a value", name)
	}
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
