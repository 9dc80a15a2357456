package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/plan"
)

func changes(n int, action plan.Action, format string) []plan.Change {
	var list []plan.Change
	for i := range n {
		list = append(list, plan.Change{Address: fmt.Sprintf(format, i), Action: action, Attributes: []string{"id", "size"}})
	}
	return list
}

// large is a layer with 10,000 creates beside a small one.
func large(losses int) Report {
	return Report{Whole: "dagger call plan --env=prod", Environments: []Environment{{Name: "prod", Layers: []Layer{
		{Name: "network", Summary: plan.Summary{Changes: changes(3, plan.Update, "openstack_networking_network_v2.net[%d]")}},
		{Name: "platform", Summary: plan.Summary{Changes: append(
			changes(losses, plan.Delete, "openstack_blockstorage_volume_v3.data[%d]"),
			changes(10_000, plan.Create, `module.site["berlin"].openstack_compute_instance_v2.host[%d]`)...)}},
	}}}}
}

// What is small and what is lost is whole; of the rest it is said what is missing.
func TestCut(t *testing.T) {
	r := large(12)
	text := Markdown(r, 65_536)
	blocks := checkMarkdown(t, text, 65_536)
	if len(text) < 65_000 {
		t.Errorf("only %d bytes are used", len(text))
	}
	if len(blocks) != 3 || len(blocks[0].lines) != 12 || len(blocks[1].lines) != 3 {
		t.Fatalf("the losses and the small layer are incomplete: %d blocks", len(blocks))
	}
	n := len(blocks[2].lines) - 1
	want := fmt.Sprintf("… and %s more creates, all details in prod/platform; full list: dagger call plan --env=prod", number(10_000-n))
	if got := blocks[2].lines[n]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, want := range []string{"**`prod`: Plan: 12 to delete, 10,000 to create, 3 to update.**", "### An apply would lose 12 resources", "| `prod` | `platform` | 12 | 10,000 |  |"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if got := Console(r, math.MaxInt); strings.Count(got, "\n") < 10_015 {
		t.Error("a console without a limit does not show all")
	}
}

func TestLossesAreCutLast(t *testing.T) {
	// Without what is in brackets, all of them fit.
	text := Markdown(large(1200), 65_536)
	blocks := checkMarkdown(t, text, 65_536)
	if !strings.HasPrefix(blocks[0].lines[1199], "-   ") || !strings.Contains(blocks[0].lines[1200], "all details") {
		t.Error("the losses are not all there, without the rest")
	}
	// More than fit leave no room for anything else but the totals.
	text = Markdown(large(3000), 65_536)
	blocks = checkMarkdown(t, text, 65_536)
	if len(blocks) != 1 || len(blocks[0].lines) < 1000 {
		t.Fatalf("%d lists, and %d losses", len(blocks), len(blocks[0].lines))
	}
	for _, want := range []string{"3,000 to delete", "An apply would lose 3,000 resources", "… and 10,000 more creates, 3 more updates in 2 lists that are not shown; full report: `dagger call plan --env=prod`"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// The totals are right at every limit.
func TestAnyLimit(t *testing.T) {
	r := many(t)
	short := "Plan: 27 to delete, 2 to replace, 1 to forget, 1 to forget and recreate, 25 to create, 6 to update, 1 to import, 1 to move."
	for limit := -1; limit < 12_000; limit += 1 + limit/100 {
		for form, text := range map[string]string{"Markdown": Markdown(r, limit), "console": Console(r, limit)} {
			checkText(t, text, limit)
			if form == "Markdown" {
				checkMarkdown(t, text, limit)
			}
			switch {
			case limit < len("…\n"):
				if text != "" {
					t.Fatalf("%s: %d bytes hold %q", form, limit, text)
				}
			case limit < len(short)+1:
				if text != "…\n" {
					t.Fatalf("%s: %d bytes hold %q", form, limit, text)
				}
			case !strings.Contains(text, short):
				t.Fatalf("%s: the totals are not in %d bytes: %q", form, limit, text)
			}
		}
	}
	if got := Markdown(r, 370); !strings.HasSuffix(got, "UTC.\n\nThe lists are left out for length.\n") {
		t.Errorf("370 bytes hold %q", got)
	}
}

func layer(s plan.Summary) []Environment {
	return []Environment{{Name: "test", Layers: []Layer{{Name: "test", Summary: s}}}}
}

func TestConsole(t *testing.T) {
	x := []plan.Change{{Address: "x", Action: plan.Create}}
	for name, c := range map[string]struct {
		environments []Environment
		want         string
	}{
		"nothing":      {nil, "Nothing was planned.\n"},
		"no change":    {layer(plan.Summary{}), "test: No changes.\n"},
		"one":          {layer(plan.Summary{Changes: x}), "test: Plan: 1 to create.\n  +   x\n"},
		"only outputs": {layer(plan.Summary{Outputs: []string{"o"}}), "test: Only outputs change.\n  ~   output o\n"},
		"only drift": {layer(plan.Summary{Drift: []plan.Drift{{Address: "x"}}}),
			"test: No changes.\n  !   x was changed outside of OpenTofu (the plan keeps it)\n"},
		"partial": {layer(plan.Summary{Partial: true, Changes: x}),
			"test: Plan: 1 to create.\n  #   this excludes what can only be planned after this apply\n  +   x\n"},
		"unknown": {layer(plan.Summary{Changes: []plan.Change{{Address: "x", Action: "archive"}}}), "test: Plan: 1 of an unknown action.\n  ?   x\n"},
		"steering a terminal": {layer(plan.Summary{Changes: []plan.Change{{Address: "a[\"\x1b[2J\nx\u009b\u202e\"]", Action: plan.Create}}}),
			"test: Plan: 1 to create.\n  +   a[\"?[2J\\nx??\"]\n"},
		"no changes in several": {append(layer(plan.Summary{}), layer(plan.Summary{})...), "No changes in 2 environments.\n"},
		"several": {append(layer(plan.Summary{Changes: x}), layer(plan.Summary{Changes: []plan.Change{{Address: "y", Action: plan.Delete}}})...),
			"Plan: 1 to delete, 1 to create.\n\nenvironment  delete  create\ntest                      1\ntest              1\n\n" +
				"An apply would lose 1 resource:\ntest:\n  -   y\n\ntest: 1 create\n  +   x\n"},
		"layers without changes": {[]Environment{{Name: "test", Layers: []Layer{{Name: "a"}, {Name: "b"}}}}, "test: No changes.\n"},
		"no layers":              {[]Environment{{Name: "test"}}, "1 environment could not be planned.\ntest: nothing was planned\n"},
		"failed": {[]Environment{{Name: "test", Error: "no\r\n\tnever\n", Hint: "try again"}},
			"1 environment could not be planned.\ntest: no\n      never\n  hint: try again\n"},
		"failed half way": {[]Environment{{Name: "test", Error: "no", Layers: []Layer{{Name: "a", Summary: plan.Summary{Changes: x}}}}},
			"test/a: Plan: 1 to create. 1 of 1 environment could not be planned.\n\nenvironment  layer  create  note\ntest         a           1\n" +
				"test                        could not be planned\n\nCould not be planned:\ntest: no\n\ntest/a: 1 create\n  +   x\n"},
		"a layer that waits": {[]Environment{{Name: "test", Layers: []Layer{{Name: "a", Note: "will be planned again"}}}},
			"test/a: No changes.\n  #   will be planned again\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Report{Environments: c.environments}
			if diff := cmp.Diff(c.want, Console(r, math.MaxInt)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkMarkdown(t, Markdown(r, 65_536), 65_536)
		})
	}
}

func TestHostilePlaces(t *testing.T) {
	r := Report{Whole: "``````"}
	for _, name := range nasty {
		s := plan.Summary{Changes: append(changes(9, plan.Delete, "x[%d]"), changes(9, plan.Create, "x[%d]")...)}
		r.Environments = append(r.Environments, Environment{Name: name, Layers: []Layer{{Name: name + "|", Summary: s}}})
	}
	for _, limit := range []int{math.MaxInt, 65_536, 30_000, 20_000, 10_000} {
		text := Markdown(r, limit)
		checkMarkdown(t, text, limit)
		if got := strings.Count(text, "\n| "); limit > 20_000 && got != len(nasty)+2 {
			t.Errorf("got %d rows, want %d", got, len(nasty)+2)
		}
	}
}

func TestReportAsJSON(t *testing.T) {
	want := many(t)
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkMarkdown(b *testing.B) {
	r := large(12)
	b.ReportAllocs()
	for b.Loop() {
		Markdown(r, 65_536)
	}
}
