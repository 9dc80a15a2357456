// Package ansible runs ansible-playbook: its command line as data, its events as types, and its
// process under the same supervisor as OpenTofu.
package ansible

import (
	"context"
	"io"
	"strconv"
	"strings"

	"slipway/internal/confine"
)

// A Playbook is one run of ansible-playbook.
type Playbook struct {
	File      string   // the playbook
	Inventory string   // file
	Variables []string // files with variables that win over all others; never a value, because arguments are visible
	Check     bool     // change nothing, and show what would change
	Limit     string   // hosts and groups, as Ansible's patterns; empty: all
	Tags      string   // comma-separated; empty: all
	Forks     int      // hosts that are worked on at once
	Verbose   bool     // -vvv
}

// Args returns the command line without the program's name.
func (p Playbook) Args() []string {
	args := []string{"--inventory=" + p.Inventory, "--forks=" + strconv.Itoa(p.Forks)}
	for _, file := range p.Variables {
		args = append(args, "--extra-vars=@"+file)
	}
	if p.Check {
		args = append(args, "--check", "--diff")
	}
	if p.Limit != "" {
		args = append(args, "--limit="+p.Limit)
	}
	if p.Tags != "" {
		args = append(args, "--tags="+p.Tags)
	}
	if p.Verbose {
		args = append(args, "-vvv")
	}
	return append(args, p.File)
}

// Settings are what Ansible is told by its environment, which wins over ansible.cfg.
type Settings struct {
	Path      string // PATH
	Home      string // empty folder
	Temp      string // folder for its own files
	Sockets   string // folder for the connections that it keeps; its path must be short
	SSHConfig string // file
}

// Env returns the environment of ansible-playbook: results as JSON lines, one SSH connection per
// host that is kept, no host key trusted on first use, and nothing written besides its folders.
func (s Settings) Env() []string {
	return []string{
		"PATH=" + s.Path, "HOME=" + s.Home, "TMPDIR=" + s.Temp, "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"ANSIBLE_STDOUT_CALLBACK=ansible.posix.jsonl", "ANSIBLE_NOCOLOR=1", "ANSIBLE_FORCE_COLOR=0", "ANSIBLE_DEPRECATION_WARNINGS=0",
		"ANSIBLE_HOST_KEY_CHECKING=1", "ANSIBLE_SSH_HOST_KEY_CHECKING=1", "ANSIBLE_PIPELINING=1",
		"ANSIBLE_SSH_ARGS=" + SSHArgs(s.SSHConfig),
		"ANSIBLE_HOST_PATTERN_MISMATCH=error", // a group without hosts would be a deploy of nothing
		"ANSIBLE_SSH_CONTROL_PATH_DIR=" + s.Sockets,
		"ANSIBLE_LOCAL_TEMP=" + s.Temp, "ANSIBLE_HOME=" + s.Home + "/.ansible", "ANSIBLE_RETRY_FILES_ENABLED=0",
		"ANSIBLE_CACHE_PLUGIN=memory", "ANSIBLE_DISPLAY_FAILED_STDERR=0",
	}
}

// SSHArgs are the first arguments of ssh, with its configuration file. They win over files, and over
// the arguments that a playbook adds.
func SSHArgs(config string) string {
	return strings.Join([]string{"-F", config, "-o", "StrictHostKeyChecking=yes", "-o", "ControlMaster=auto", "-o", "ControlPersist=60s"}, " ")
}

// Exit codes of ansible-playbook.
const (
	ExitOK          = 0
	ExitInterrupted = 99
)

// A Runner runs ansible-playbook as the tools' own user.
type Runner struct {
	Dir    string   // where ansible.cfg is looked for
	Env    []string // the complete environment
	Stderr io.Writer
}

// Play runs a playbook. each is called for every event as it arrives, and other for lines that are
// not events. It returns the exit code, or an error if there was none. When ctx ends, Ansible is
// asked to stop.
func (r Runner) Play(ctx context.Context, p Playbook, each func(Event), other func(line []byte)) (int, error) {
	tool := confine.Tool{Name: "ansible-playbook", Dir: r.Dir, Env: r.Env, Stderr: r.Stderr, Group: true}
	return tool.Lines(ctx, func(line []byte) {
		if e, ok := ReadEvent(line); ok {
			each(e)
		} else {
			other(line)
		}
	}, p.Args()...)
}
