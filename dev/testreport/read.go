package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// again ends the name of a phase that repeats a failed one.
const again = " again"

// A run is what the phases of one run left.
type run struct {
	passed, skipped, deep int
	failures, flaky       []failure
	notRun                []string // a line each
}

// A failure is a test that failed, with its output and the file that has the whole.
type failure struct {
	phase, test, output, log string
}

// A suite is a part of JUnit's format: what gotestsum and node write.
type suite struct {
	Suites []suite `xml:"testsuite"`
	Cases  []struct {
		Name    string  `xml:"name,attr"`
		Failure *detail `xml:"failure"`
		Skipped *detail `xml:"skipped"`
	} `xml:"testcase"`
}

type detail struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// A phase is a line of phases.tsv.
type phase struct {
	name, status string
}

// read reads the folder of a run. What it cannot read is an error: nothing is taken for passed.
func read(folder, skips string) (*run, error) {
	phases, err := readPhases(filepath.Join(folder, "phases.tsv"))
	if err != nil {
		return nil, err
	}
	reasons, err := readReasons(skips)
	if err != nil {
		return nil, err
	}
	repeated := map[string]bool{} // and whether it passed
	for _, p := range phases {
		if first, ok := strings.CutSuffix(p.name, again); ok {
			repeated[first] = p.status == "0"
		}
	}
	r := &run{}
	for _, p := range phases {
		log := filepath.Join(folder, fileName(p.name)+".log")
		if p.status == "skipped" {
			r.failures = append(r.failures, r.skip(p.name, reasons)...)
			continue
		}
		failures, err := r.readPhase(p, folder, log, reasons)
		if err != nil {
			return nil, err
		}
		passedAgain, wasRepeated := repeated[p.name]
		switch {
		case !wasRepeated:
			r.failures = append(r.failures, failures...)
		case passedAgain:
			r.flaky = append(r.flaky, failures...)
		}
	}
	return r, nil
}

// fileName is the name of a phase's files, without their ends.
func fileName(phase string) string {
	return strings.NewReplacer(" ", "-", "/", "-").Replace(phase)
}

// readPhase counts the tests of a phase, and returns those that failed.
func (r *run) readPhase(p phase, folder, log string, reasons map[string]string) ([]failure, error) {
	whole := []failure{{p.name, "", "", log}}
	data, err := os.ReadFile(filepath.Join(folder, fileName(p.name)+".xml"))
	if errors.Is(err, fs.ErrNotExist) {
		if p.status == "0" {
			r.passed++
			return nil, nil
		}
		output, err := os.ReadFile(log)
		whole[0].output = string(output)
		return whole, err
	}
	if err != nil {
		return nil, err
	}
	var s suite
	if err := xml.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", fileName(p.name)+".xml", err)
	}
	failures := r.count(s, p.name, log, reasons)
	if len(failures) == 0 && p.status != "0" { // such as a program that is killed
		output, err := os.ReadFile(log)
		whole[0].output = string(output)
		return whole, err
	}
	return failures, nil
}

func (r *run) count(s suite, phase, log string, reasons map[string]string) (failures []failure) {
	for _, inner := range s.Suites {
		failures = append(failures, r.count(inner, phase, log, reasons)...)
	}
	failed := map[string]bool{} // the tests above a failed one
	for _, c := range s.Cases {
		if c.Failure == nil {
			continue
		}
		for name := c.Name; strings.Contains(name, "/"); {
			name = name[:strings.LastIndex(name, "/")]
			failed[name] = true
		}
	}
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			output := message(c.Failure)
			if output == "" && failed[c.Name] {
				continue // it only failed by a test below it
			}
			failures = append(failures, failure{phase, c.Name, output, log})
		case c.Skipped != nil && strings.Contains(c.Skipped.Message, "deep: "):
			r.deep++
		case c.Skipped != nil:
			failures = append(failures, r.skip(c.Name, reasons)...)
		default:
			r.passed++
		}
	}
	return failures
}

// skip notes a test that did not run. It is a failure without a reason.
func (r *run) skip(name string, reasons map[string]string) []failure {
	name = underscored(name)
	r.skipped++
	if reason := reasons[name]; reason != "" {
		r.notRun = append(r.notRun, "NOT RUN: "+name+": "+reason)
		return nil
	}
	r.notRun = append(r.notRun, "NOT RUN, AND NOT IN dev/skips: "+name)
	return []failure{{test: name, output: "it was skipped, and dev/skips gives no reason"}}
}

// underscored is a name as go test writes it. Phases and dev/skips may have spaces.
func underscored(name string) string { return strings.ReplaceAll(name, " ", "_") }

// message is the output of a failed test without the lines that go test puts around it.
func message(d *detail) string {
	text := d.Text
	if strings.TrimSpace(text) == "" {
		text = d.Message
	}
	var kept []string
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- FAIL") || trimmed == "" {
			continue
		}
		kept = append(kept, strings.TrimRight(line, "\n"))
	}
	return strings.Join(kept, "\n")
}

func readPhases(path string) ([]phase, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var phases []phase
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: %q does not have three fields", path, line)
		}
		if _, err := strconv.Atoi(fields[2]); err != nil && fields[2] != "skipped" {
			return nil, fmt.Errorf("%s: %q is no exit status", path, fields[2])
		}
		phases = append(phases, phase{fields[0], fields[2]})
	}
	return phases, nil
}

// readReasons reads dev/skips: a name, tabs, and the reason.
func readReasons(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasPrefix(line, "#") {
			reasons[underscored(name)] = strings.TrimSpace(reason)
		}
	}
	return reasons, nil
}
