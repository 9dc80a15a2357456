package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const junit = `<testsuites><testsuite name="slipway/a">
<testcase name="TestGood"/>
<testcase name="TestParent/bad_one"><failure message="Failed">=== RUN   TestParent/bad_one
    a_test.go:7: wrong value
--- FAIL: TestParent/bad_one (0.00s)
</failure></testcase>
<testcase name="TestParent"><failure message="Failed">=== RUN   TestParent
--- FAIL: TestParent (0.00s)
</failure></testcase>
<testcase name="TestDeep"><skipped message="=== RUN   TestDeep&#xA;    a_test.go:4: deep: it takes minutes&#xA;"/></testcase>
<testcase name="TestElsewhere"><skipped message="    a_test.go:4: no engine of ours"/></testcase>
</testsuite></testsuites>`

// A run is what dev/test leaves: files by name.
func report(t *testing.T, files map[string]string) (*run, error) {
	t.Helper()
	folder := t.TempDir()
	skips := filepath.Join(folder, "skips")
	files["skips"] = "# why\nTestElsewhere\t\tthe engine is not ours\nnew advisories\tno network\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return read(folder, skips)
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		says  []string // the text has these lines, and the last one at its end
		fails int
	}{
		"all is well": {
			map[string]string{"phases.tsv": "lint\t3\t0\n", "lint.log": ""},
			[]string{"1 passed, 0 failed"}, 0,
		},
		"tests of a phase": {
			map[string]string{"phases.tsv": "unit tests\t3\t1\n", "unit-tests.xml": junit, "unit-tests.log": ""},
			[]string{"FAILED: TestParent/bad_one (unit tests)", "    a_test.go:7: wrong value", "NOT RUN: TestElsewhere: the engine is not ours", "1 deep tests run under make test-all only", "1 passed, 1 failed, 1 skipped"}, 1,
		},
		"a command that fails": {
			map[string]string{"phases.tsv": "lint\t3\t1\n", "lint.log": "bad.go:1: unused\n"},
			[]string{"FAILED: lint", "    bad.go:1: unused", "0 passed, 1 failed"}, 1,
		},
		"a phase that fails though no test of it does": {
			map[string]string{"phases.tsv": "unit tests\t3\t137\n", "unit-tests.xml": `<testsuites><testsuite><testcase name="TestGood"/></testsuite></testsuites>`, "unit-tests.log": "Killed\n"},
			[]string{"FAILED: unit tests", "    Killed", "1 passed, 1 failed"}, 1,
		},
		"a phase that passes when it is repeated": {
			map[string]string{"phases.tsv": "TestUp\t3\t1\nTestUp again\t3\t0\n", "TestUp.log": "slow\n", "TestUp-again.log": ""},
			[]string{"FLAKY, passed when repeated alone: TestUp", "    slow", "1 passed, 0 failed, 1 flaky"}, 0,
		},
		"a phase that fails twice": {
			map[string]string{"phases.tsv": "TestUp\t3\t1\nTestUp again\t3\t1\n", "TestUp.log": "first\n", "TestUp-again.log": "second\n"},
			[]string{"FAILED: TestUp again", "    second", "0 passed, 1 failed"}, 1,
		},
		"a phase that may be skipped, and one that may not": {
			map[string]string{"phases.tsv": "new advisories\t0\tskipped\nother\t0\tskipped\n"},
			[]string{"NOT RUN: new_advisories: no network", "NOT RUN, AND NOT IN dev/skips: other", "0 passed, 1 failed, 2 skipped"}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := report(t, c.files)
			if err != nil {
				t.Fatal(err)
			}
			text := r.text()
			for _, line := range c.says {
				if !strings.Contains("\n"+text, "\n"+line+"\n") {
					t.Errorf("no line %q in\n%s", line, text)
				}
			}
			if last := c.says[len(c.says)-1] + "\n"; !strings.HasSuffix(text, last) || len(r.failures) != c.fails {
				t.Errorf("%d failures, not %d, in\n%s", len(r.failures), c.fails, text)
			}
		})
	}
}

// Unreadable results are no passed tests.
func TestReportOfUnreadableFiles(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no phases":         {},
		"a cut line":        {"phases.tsv": "lint\t3\n"},
		"a cut XML file":    {"phases.tsv": "unit\t3\t0\n", "unit.xml": junit[:200]},
		"no log of failure": {"phases.tsv": "lint\t3\t1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := report(t, files); err == nil {
				t.Errorf("read as\n%s", r.text())
			}
		})
	}
}

func TestReportIsShort(t *testing.T) {
	var cases strings.Builder
	for range 30 {
		cases.WriteString(`<testcase name="TestX"><failure message="Failed">` + strings.Repeat(strings.Repeat("long ", 100)+"\n", 50) + `</failure></testcase>`)
	}
	r, err := report(t, map[string]string{"phases.tsv": "unit\t3\t1\n", "unit.log": "", "unit.xml": "<testsuites><testsuite>" + cases.String() + "</testsuite></testsuites>"})
	if err != nil {
		t.Fatal(err)
	}
	text := r.text()
	if n := strings.Count(text, "\n"); n > 40 || !strings.HasSuffix(text, "and 12 more failed\n0 passed, 30 failed\n") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}
