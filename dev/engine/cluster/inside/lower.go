package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// lower adapts the configuration that runc, called with these arguments, will read: of a container that it
// creates, or of a process that it starts in one.
func lower(args []string) error {
	switch {
	case slices.Contains(args, "create"), slices.Contains(args, "run"):
		return rewrite(filepath.Join(option(args, ".", "--bundle", "-b"), "config.json"), func(s *specs.Spec, l limits) {
			if s.Process != nil {
				l.lower(s.Process)
			}
			withControlGroups(s.Mounts)
		})
	case slices.Contains(args, "exec"):
		if path := option(args, "", "--process", "-p"); path != "" {
			return rewrite(path, func(p *specs.Process, l limits) { l.lower(p) })
		}
	}
	return nil
}

// option returns the value of an option that has one of these names.
func option(args []string, otherwise string, names ...string) string {
	for i, a := range args {
		for _, name := range names {
			if a == name && i+1 < len(args) {
				return args[i+1]
			}
			if value, ok := strings.CutPrefix(a, name+"="); ok {
				return value
			}
		}
	}
	return otherwise
}

func rewrite[T any](path string, change func(*T, limits)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	l, err := ownLimits()
	if err != nil {
		return err
	}
	change(&v, l)
	if data, err = json.Marshal(v); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// limits are those that a process has, and cannot raise for the processes that it starts.
type limits struct {
	score  int    // the lowest out-of-memory score
	files  uint64 // number of open files
	raises bool   // it may raise them after all
}

func ownLimits() (l limits, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return l, err
	}
	_, rest, _ := strings.Cut(string(status), "\nCapBnd:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	if err != nil {
		return l, fmt.Errorf("read our capabilities: %w", err)
	}
	const sysResource = 24 // CAP_SYS_RESOURCE
	l.raises = bits&(1<<sysResource) != 0
	score, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return l, err
	}
	if l.score, err = strconv.Atoi(strings.TrimSpace(string(score))); err != nil {
		return l, err
	}
	var files syscall.Rlimit
	err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	l.files = files.Max
	return l, err
}

// lower takes out of a process's configuration what exceeds the limits.
func (l limits) lower(p *specs.Process) {
	if l.raises {
		return
	}
	if p.OOMScoreAdj != nil {
		*p.OOMScoreAdj = max(*p.OOMScoreAdj, l.score)
	}
	if c := p.Capabilities; c != nil {
		for _, set := range []*[]string{&c.Bounding, &c.Effective, &c.Permitted, &c.Inheritable, &c.Ambient} {
			*set = slices.DeleteFunc(*set, func(name string) bool { return name == "CAP_SYS_RESOURCE" })
		}
	}
	for i, r := range p.Rlimits {
		if r.Type == "RLIMIT_NOFILE" {
			p.Rlimits[i].Hard, p.Rlimits[i].Soft = min(r.Hard, l.files), min(r.Soft, l.files)
		}
	}
}

// withControlGroups mounts the control groups of version 1, which are several mounts, together with their folder.
// Talos mounts only one, as it is in version 2.
func withControlGroups(mounts []specs.Mount) {
	for _, m := range mounts {
		if i := slices.Index(m.Options, "bind"); m.Source == "/sys/fs/cgroup" && i >= 0 {
			m.Options[i] = "rbind"
		}
	}
}
