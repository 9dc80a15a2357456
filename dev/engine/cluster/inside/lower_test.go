package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func greedy() *specs.Process {
	score := -999
	all := []string{"CAP_SYS_ADMIN", "CAP_SYS_RESOURCE"}
	return &specs.Process{
		OOMScoreAdj: &score,
		Capabilities: &specs.LinuxCapabilities{
			Bounding: slices.Clone(all), Effective: slices.Clone(all), Permitted: slices.Clone(all), Inheritable: slices.Clone(all), Ambient: slices.Clone(all),
		},
		Rlimits: []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Hard: 1 << 20, Soft: 1 << 20}, {Type: "RLIMIT_CORE", Hard: 1 << 20, Soft: 5}},
	}
}

// On a machine that may not raise its limits, a container asks for none above them, and only then.
func TestLower(t *testing.T) {
	p := greedy()
	limits{score: -5, files: 1024}.lower(p)
	if *p.OOMScoreAdj != -5 {
		t.Errorf("the score is %d", *p.OOMScoreAdj)
	}
	for _, set := range [][]string{p.Capabilities.Bounding, p.Capabilities.Effective, p.Capabilities.Permitted, p.Capabilities.Inheritable, p.Capabilities.Ambient} {
		if !slices.Equal(set, []string{"CAP_SYS_ADMIN"}) {
			t.Errorf("the capabilities are %s", set)
		}
	}
	if l := p.Rlimits[0]; l.Hard != 1024 || l.Soft != 1024 {
		t.Errorf("%+v", l)
	}
	if l := p.Rlimits[1]; l.Hard != 1<<20 || l.Soft != 5 {
		t.Errorf("%+v", l)
	}

	p = greedy()
	limits{score: -5, files: 1024, raises: true}.lower(p)
	if *p.OOMScoreAdj != -999 || p.Rlimits[0].Hard != 1<<20 || len(p.Capabilities.Bounding) != 2 {
		t.Errorf("%+v is lowered although it need not be", p)
	}

	modest := &specs.Process{}
	limits{score: 1000}.lower(modest) // it has nothing to lower
}

// runc's own command lines: those that containerd's shim uses, and those that do not read a configuration.
func TestLowerFinds(t *testing.T) {
	bundle := t.TempDir()
	config, process := filepath.Join(bundle, "config.json"), filepath.Join(bundle, "process.json")
	for name, c := range map[string]struct {
		args    []string
		rewrite string
	}{
		"create":                {[]string{"--root", "/run/containerd/runc/k8s.io", "--log", "/x", "create", "--bundle", bundle, "--pid-file", "/x/pid", "id"}, config},
		"run":                   {[]string{"run", "-b=" + bundle, "id"}, config},
		"exec":                  {[]string{"exec", "--process", process, "--detach", "id"}, process},
		"start":                 {[]string{"start", "id"}, ""},
		"a command in exec":     {[]string{"exec", "id", "sh"}, ""},
		"an option with no end": {[]string{"exec", "--process"}, ""},
	} {
		for path, v := range map[string]any{config: specs.Spec{Version: "1.0.2", Process: greedy()}, process: greedy()} {
			data, err := json.MarshalIndent(v, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := map[string]string{}
		for _, path := range []string{config, process} {
			data, _ := os.ReadFile(path)
			before[path] = string(data)
		}
		if err := lower(c.args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for path, old := range before {
			now, _ := os.ReadFile(path)
			if rewritten := string(now) != old; rewritten != (path == c.rewrite) { // written without indents
				t.Errorf("%s: %s is rewritten: %v", name, filepath.Base(path), rewritten)
			}
		}
	}
}

func TestLowerFails(t *testing.T) {
	dir := t.TempDir()
	if err := lower([]string{"create", "--bundle", dir, "id"}); err == nil {
		t.Error("a container without a configuration is created")
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lower([]string{"create", "--bundle", dir, "id"}); err == nil {
		t.Error("a container with half a configuration is created")
	}
}

// The kubelet sees the control groups of version 1, and other folders as before.
func TestWithControlGroups(t *testing.T) {
	mounts := []specs.Mount{
		{Source: "/sys", Options: []string{"bind", "ro"}},
		{Source: "/sys/fs/cgroup", Options: []string{"bind", "rw"}},
		{Source: "/sys/fs/cgroup", Options: []string{"rw"}},
	}
	withControlGroups(mounts)
	for i, want := range [][]string{{"bind", "ro"}, {"rbind", "rw"}, {"rw"}} {
		if !slices.Equal(mounts[i].Options, want) {
			t.Errorf("%s is mounted with %s", mounts[i].Source, mounts[i].Options)
		}
	}
}
