package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// chooser is the function that the instrumented code calls.
const chooser = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	slipwayMutantID, _  = strconv.Atoi(os.Getenv("SLIPWAY_MUTANT"))
	slipwayMutantTrace  = os.Getenv("SLIPWAY_MUTANT_TRACE")
	slipwayMutantsSeen  sync.Map
)

func slipwayMutant(id int) bool {
	if slipwayMutantTrace != "" {
		if _, seen := slipwayMutantsSeen.LoadOrStore(id, true); !seen {
			if f, err := os.OpenFile(slipwayMutantTrace, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
				fmt.Fprintln(f, id)
				f.Close()
			}
		}
	}
	return id == slipwayMutantID
}
`

// A test is a test that is run with mutants.
type test struct {
	name    string
	binary  string // that has it
	folder  string // in which it runs
	short   bool
	takes   time.Duration
	reaches map[int]bool
}

// run returns the mutants of a target that no test notices, and the total number of mutants, among
// those whose name matches.
func (t target) run(match *regexp.Regexp, budget time.Duration) (left []mutant, all int, err error) {
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := os.Chmod(work, 0o711); err != nil {
		return nil, 0, err
	}
	binaries, mutants, err := t.build(work)
	if err != nil {
		return nil, 0, err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !match.MatchString(m.name()) })
	if len(mutants) == 0 {
		return nil, 0, nil
	}
	var tests []test
	for folder, binary := range binaries {
		some, err := t.tests(binary, folder, work)
		if err != nil {
			return nil, 0, err
		}
		tests = append(tests, some...)
	}
	slices.SortFunc(tests, func(a, b test) int { return int(a.takes - b.takes) })
	results := make([]bool, len(mutants))
	known := &killers{of: map[string][]string{}}
	var group sync.WaitGroup
	turns := make(chan int)
	for range runtime.NumCPU() {
		group.Go(func() {
			for i := range turns {
				results[i] = t.noticed(mutants[i], tests, known, budget)
				if !results[i] {
					fmt.Fprintf(os.Stderr, "survives: %s\n", mutants[i].name())
				}
			}
		})
	}
	for i := range mutants {
		turns <- i
	}
	close(turns)
	group.Wait()
	for i, noticed := range results {
		if !noticed {
			left = append(left, mutants[i])
		}
	}
	return left, len(mutants), nil
}

// build compiles the tests of a target with all of its mutants in them. It returns the programs by
// the folders of their packages.
func (t target) build(work string) (binaries map[string]string, mutants []mutant, err error) {
	sources, err := t.sources()
	if err != nil {
		return nil, nil, err
	}
	replace := map[string]string{}
	next := 0
	for i, path := range sources {
		code, some, err := instrument(path, &next)
		if err != nil {
			return nil, nil, err
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, nil, err
		}
		copied := filepath.Join(work, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(copied, code, 0o600); err != nil {
			return nil, nil, err
		}
		replace[absolute] = copied
		mutants = append(mutants, some...)
		// Each package has a chooser of its own.
		where := filepath.Join(filepath.Dir(absolute), "zz_mutant.go")
		if replace[where] != "" {
			continue
		}
		replace[where] = filepath.Join(work, fmt.Sprintf("chooser%d.go", i))
		name := packageName.FindStringSubmatch(string(code))[1]
		if err := os.WriteFile(replace[where], fmt.Appendf(nil, chooser, name), 0o600); err != nil {
			return nil, nil, err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return nil, nil, err
	}
	binaries = map[string]string{}
	for i, folder := range slices.Concat(t.packages, t.also) {
		binary := filepath.Join(work, fmt.Sprintf("tests%d", i))
		out, err := exec.CommandContext(context.Background(), "go", "test", "-c", "-vet=off", "-tags", "blackbox", "-overlay", file, "-o", binary, "./"+folder).CombinedOutput()
		if err != nil {
			return nil, nil, fmt.Errorf("build %s: %w\n%s", folder, err, out)
		}
		if _, err := os.Stat(binary); err == nil { // otherwise it has no tests of its own
			binaries[folder] = binary
		}
	}
	return binaries, mutants, nil
}

var packageName = regexp.MustCompile(`(?m)^package (\w+)`)

// tests runs every test alone, without a mutant, and returns them.
func (t target) tests(binary, folder, work string) ([]test, error) {
	// The seeds of a fuzz test are tests.
	list := exec.CommandContext(context.Background(), binary, "-test.list", "^(Test|Fuzz)")
	list.Dir = folder
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	var skip *regexp.Regexp
	if t.skip != "" {
		skip = regexp.MustCompile(t.skip)
	}
	names := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return skip != nil && skip.MatchString(name) })
	tests := make([]test, len(names))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i, name := range names {
		group.Go(func() (err error) {
			tests[i], err = trace(test{name: name, binary: binary, folder: folder, short: t.short}, work)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, one := range tests {
		if one.takes > time.Second {
			fmt.Fprintf(os.Stderr, "%s takes %s\n", one.name, one.takes.Round(time.Second/10))
		}
	}
	return tests, nil
}

// trace runs a test without a mutant.
func trace(one test, work string) (test, error) {
	trace := filepath.Join(work, "trace-"+filepath.Base(one.binary)+"-"+one.name)
	// What a test starts may be another user, whom the umask is not to keep out.
	if err := errors.Join(os.WriteFile(trace, nil, 0o600), os.Chmod(trace, 0o666)); err != nil {
		return test{}, err
	}
	begin := time.Now()
	if out, err := command(context.Background(), one, []string{one.name}, "SLIPWAY_MUTANT_TRACE="+trace).CombinedOutput(); err != nil {
		return test{}, fmt.Errorf("%s of %s fails without a mutant: %w\n%s", one.name, one.folder, err, out)
	}
	one.takes, one.reaches = time.Since(begin), map[int]bool{}
	data, err := os.ReadFile(trace)
	if err != nil {
		return test{}, err
	}
	for _, text := range strings.Fields(string(data)) {
		if id, err := strconv.Atoi(text); err == nil {
			one.reaches[id] = true
		}
	}
	return one, nil
}

// command runs tests of the package that one is of.
func command(ctx context.Context, one test, names []string, environment string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, one.binary, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.parallel", "4", fmt.Sprintf("-test.short=%t", one.short))
	cmd.Dir = one.folder
	cmd.Env = append(os.Environ(), environment)
	cmd.WaitDelay = time.Second
	return cmd
}

// killers remember which tests noticed a mutant of a function: they run first for that function's
// next mutant.
type killers struct {
	sync.Mutex
	of map[string][]string // by file and function, latest first
}

func (k *killers) add(m mutant, names []string) {
	k.Lock()
	defer k.Unlock()
	key := m.file + " " + m.function
	earlier := slices.DeleteFunc(slices.Clone(k.of[key]), func(name string) bool { return slices.Contains(names, name) })
	k.of[key] = append(slices.Clone(names), earlier...)
}

// first returns the tests that reach a mutant, in the order in which they run.
func (k *killers) first(m mutant, tests []test) []test {
	k.Lock()
	defer k.Unlock()
	order := k.of[m.file+" "+m.function]
	place := func(t test) int {
		if i := slices.Index(order, t.name); i >= 0 {
			return i
		}
		return len(order)
	}
	reached := slices.DeleteFunc(slices.Clone(tests), func(t test) bool { return !t.reaches[m.id] })
	slices.SortStableFunc(reached, func(a, b test) int { return place(a) - place(b) })
	return reached
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// noticed says whether a test that reaches the mutant fails with it. One that takes much
// longer than without has failed, too.
func (t target) noticed(m mutant, tests []test, known *killers, budget time.Duration) bool {
	var batch []string // of one package
	var of test
	var takes, spent time.Duration
	try := func() bool {
		if len(batch) == 0 {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second+4*takes)
		defer cancel()
		out, err := command(ctx, of, batch, "SLIPWAY_MUTANT="+strconv.Itoa(m.id)).CombinedOutput()
		var names []string
		for _, match := range failedTest.FindAllSubmatch(out, -1) {
			names = append(names, string(match[1]))
		}
		known.add(m, names)
		var exit *exec.ExitError
		batch, takes = nil, 0
		return errors.As(err, &exit) || ctx.Err() != nil
	}
	for i, one := range known.first(m, tests) {
		if spent += one.takes; spent > budget && i > 0 {
			break
		}
		if len(batch) > 0 && of.folder != one.folder && try() {
			return true
		}
		of = one
		batch, takes = append(batch, one.name), takes+one.takes
		// Fast tests run together.
		if takes > time.Second && try() {
			return true
		}
	}
	return try()
}
