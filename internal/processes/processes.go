// Package processes finds programs that another program started.
package processes

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Children returns the process IDs of the children of a process that have not ended, in ascending order.
//
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func Children(of int) []int {
	return listed()[of]
}

// Descendants returns the process IDs of the children of a process, of their children, and so on.
func Descendants(of int) []int {
	children := listed()
	all := slices.Clone(children[of])
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// listed returns all processes by their parent's ID.
func listed() map[int][]int {
	children := map[int][]int{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE PPID …, and a name can contain anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	for _, pids := range children {
		slices.Sort(pids)
	}
	return children
}
