// testreport ends a run of the tests: it reads what dev/test left in a folder, and prints what failed,
// what was flaky, what did not run, and the counts.
//
//	testreport FOLDER SKIPS
//
// In FOLDER, phases.tsv has a line for each phase: its name, seconds and exit status, or "skipped". A phase
// that runs tests has left NAME.xml in JUnit's format; another one counts as one test. NAME.log has its
// output. SKIPS names the tests that may be skipped, and why.
//
// It exits with 0 if nothing failed, and with 1 otherwise.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: testreport FOLDER SKIPS")
		os.Exit(2)
	}
	r, err := read(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	fmt.Print(r.text())
	if len(r.failures) > 0 {
		os.Exit(1)
	}
}
