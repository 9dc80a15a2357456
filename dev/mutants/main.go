// Command mutants changes one thing at a time in the code for secrets, locks, plans and guards, and
// checks whether a test notices. `make mutants` runs it.
//
// Every file of a package is instrumented once, so that an environment variable selects the mutant:
// one compilation serves all of them. First each test runs alone, to find out which mutants it
// reaches and how long it takes. Then each mutant is run with the tests that reach it, fastest
// first, for up to -budget.
//
// It is our own program because many tests take seconds, so a mutant must only run with the tests
// that reach it and be compiled together with all others. Gremlins, the maintained tool of this
// kind, says that a run on a large module takes hours; it was not tried here.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A target is one package or several, or some of their files, and the tests that are to notice.
type target struct {
	packages []string // folders from the root of the repository
	files    []string // names of files; empty: all
	also     []string // packages whose tests are asked, too
	skip     string   // pattern of tests that take too long to be asked, or fail where others work
	short    bool     // the tests run with -short: in full they take too long
}

// targets is the code for secrets, locks, plans and guards.
var targets = []target{
	{packages: []string{"internal/journal"}},
	{packages: []string{"internal/state"}},
	{packages: []string{"internal/manifest"}},
	{packages: []string{"internal/marker"}},
	{packages: []string{"internal/redact"}, skip: "Cost"},
	{packages: []string{"internal/secrets"}},
	{packages: []string{"internal/plan"}, files: []string{"sensitive.go", "summary.go", "change.go", "attributes.go", "value.go", "compare.go", "table.go", "stream.go"}},
	{packages: []string{"internal/confine"}},
	{packages: []string{"internal/approval"}},
	{packages: []string{"internal/foreign"}, files: []string{"judge.go", "source.go", "providers.go"}},
	{packages: []string{"internal/github"}, files: []string{"comment.go", "context.go", "event.go"}},
	{packages: []string{"internal/inventory"}},
	{packages: []string{"internal/ansible"}},
	{packages: []string{"internal/remote"}, files: []string{"remote.go", "proxy.go"}},
	{packages: []string{"internal/tunnel"}},
	{packages: []string{"internal/proxy"}},
	{packages: []string{"internal/clustertool"}},
	{packages: []string{"internal/verify"}, files: []string{"https.go", "verify.go", "flow.go", "reboot.go", "tracker.go"}},
	{packages: []string{"internal/fault"}},
	{packages: []string{"internal/rollout"}, short: true},
	{packages: []string{"internal/talos"}},
	{packages: []string{"internal/talosapi"}},
	{packages: []string{"internal/clusters"}, short: true},
	{packages: []string{"internal/drift"}},
	{packages: []string{"internal/openstack"}, files: []string{"find.go"}},
	{packages: []string{"internal/ovh"}, files: []string{"find.go", "record.go"}},
	// The runner: its packages are tested by themselves, and together by cmd/slipway.
	{packages: []string{
		"internal/run", "internal/workspace", "internal/layer", "internal/hold", "internal/rescue", "internal/sealedplan", "internal/address",
		"internal/playbook", "internal/hosts", "internal/machines",
		"internal/commands/apply", "internal/commands/checks", "internal/commands/deployment", "internal/commands/inspect", "internal/commands/recovery", "internal/commands/review", "internal/commands/servers",
	}, also: []string{"cmd/slipway"}, skip: "BlackBox(System|KillMatrix|Killed|LockProviders|Database(NeverReady|Fails|Refused)|Stopped|FullWork)"},
}

// enough is the share of mutants that tests have to notice.
const enough = 0.9

func main() {
	only := flag.String("only", "", "only the package whose folder ends with this")
	budget := flag.Duration("budget", 40*time.Second, "time limit of the tests for one mutant")
	match := flag.String("match", "", "pattern of the names of the mutants to run; empty: all")
	skip := flag.String("skip", "", "pattern of further tests to skip, such as BlackBox")
	known := flag.String("known", "dev/mutants/survivors", "file that explains survivors: one per line, with the reason after a tab")
	flag.Parse()
	reasons, err := readSurvivors(*known)
	if err != nil {
		fail(err)
	}
	chosen, err := regexp.Compile(*match)
	if err != nil {
		fail(err)
	}
	for _, t := range targets {
		if err := t.check("."); err != nil {
			fail(err)
		}
	}
	killed, survived, unexplained := 0, 0, 0
	for _, t := range targets {
		if t = t.only(*only); len(t.packages) == 0 {
			continue
		}
		if *skip != "" {
			t.skip = strings.Trim(t.skip+"|"+*skip, "|")
		}
		begin := time.Now()
		left, all, err := t.run(chosen, *budget)
		if err != nil {
			fail(err)
		}
		killed, survived = killed+all-len(left), survived+len(left)
		fmt.Printf("%-20s %4d of %4d killed, %s\n", strings.Join(t.packages, " "), all-len(left), all, time.Since(begin).Round(time.Second))
		for _, m := range left {
			why := reasons[m.name()]
			if why == "" {
				unexplained++
				why = "NOT EXPLAINED"
			}
			fmt.Printf("  %s\t%s\n", m.name(), why)
			delete(reasons, m.name())
		}
		for name := range reasons {
			file, _, _ := strings.Cut(name, " ")
			if *match == "" && slices.Contains(t.packages, path.Dir(file)) {
				fmt.Printf("  %s\tis explained, and does not survive\n", name)
			}
		}
	}
	part := float64(killed) / float64(max(1, killed+survived))
	fmt.Printf("%d of %d mutants killed (%.1f %%), %d survivors not explained\n", killed, killed+survived, 100*part, unexplained)
	if part < enough || unexplained > 0 {
		os.Exit(1)
	}
}

// check returns an error for a package or a file that does not exist: its code would never be changed.
func (t target) check(root string) error {
	for _, folder := range append(t.packages, t.also...) {
		if files, err := filepath.Glob(filepath.Join(root, folder, "*.go")); err != nil || len(files) == 0 {
			return fmt.Errorf("there is no package %s", folder)
		}
	}
	for _, name := range t.files {
		exists := func(folder string) bool {
			_, err := os.Stat(filepath.Join(root, folder, name))
			return err == nil
		}
		if !slices.ContainsFunc(t.packages, exists) {
			return fmt.Errorf("there is no file %s in %s", name, strings.Join(t.packages, " "))
		}
	}
	return nil
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
	os.Exit(1)
}

func readSurvivors(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s: %q has no reason after a tab", path, line)
		}
		reasons[name] = strings.TrimSpace(why)
	}
	return reasons, nil
}

// sources returns the files of a target, without its tests.
func (t target) sources() ([]string, error) {
	var all []string
	for _, folder := range t.packages {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(names, func(name string) bool {
			return strings.HasSuffix(name, "_test.go") || len(t.files) > 0 && !slices.Contains(t.files, filepath.Base(name))
		})...)
	}
	return all, nil
}

// only is the target with no other packages than those whose folder ends so.
func (t target) only(suffix string) target {
	t.packages = slices.DeleteFunc(slices.Clone(t.packages), func(folder string) bool { return !strings.HasSuffix(folder, suffix) })
	return t
}
