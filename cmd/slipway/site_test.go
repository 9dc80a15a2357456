//go:build blackbox

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"slipway/internal/testkit"
	"slipway/internal/testkit/openssh"
)

// ansibleRoot has Ansible, Python and an SSH server of Debian 13: dev/fetch-tools puts it there.
const ansibleRoot = "../../.slipway/ansible"

// A site is environment test with hosts: SSH servers on this machine, each with a folder of its own.
type site struct {
	*project
	names   []string
	hosts   map[string]*sshHost
	private string // of the operator
}

// An sshHost is one server. It logs in root.
type sshHost struct {
	folder string // of the files that tasks write
	*openssh.Server
}

// newSite starts a server for each name, and lets apply write their inventory. Each host has the
// variable folder.
func newSite(t *testing.T, names ...string) *site {
	t.Helper()
	p := newProject(t, "")
	if _, err := os.Stat(ansibleRoot); err != nil {
		t.Fatal("there is no .slipway/ansible: make tools puts it there")
	}
	s := &site{project: p, names: names, hosts: map[string]*sshHost{}}
	var public string
	s.private, public = openssh.NewKey(t)
	for i, name := range names {
		s.hosts[name] = newHost(t, name, fmt.Sprintf("127.0.1.%d", i+1), public)
	}
	s.playbook(`
- name: Write
  hosts: all
  gather_facts: false
  serial: "{{ slipway_serial }}"
  tasks:
    - name: Write a file
      ansible.builtin.template: {src: ../file.j2, dest: "{{ folder }}/file", mode: "0600"}
`)
	p.write("ansible/file.j2", "in {{ slipway_environment }}\n")
	s.settings("deploy: {playbook: site.yml}")
	s.outputs(s.inventory(), "")
	p.secret["SSH_PRIVATE_KEY"] = s.private
	p.seal()
	return s
}

// settings writes environment.yaml with further lines.
func (s *site) settings(lines string) {
	s.t.Helper()
	s.write("environments/test/environment.yaml", fmt.Sprintf("credentials: [test]\nstate:\n  s3: {bucket: slipway-test, region: us-east-1, endpoint: %q}\n%s\n", s.store.URL, lines))
}

func (s *site) playbook(text string) { s.t.Helper(); s.write("ansible/playbooks/site.yml", text) }

// inventory is the output of a root module that has created the hosts.
func (s *site) inventory() map[string]any {
	all := map[string]any{}
	for name, h := range s.hosts {
		all[name] = map[string]any{
			"host": h.Address, "user": "root", "port": h.Port, "groups": []string{"test"},
			"known_hosts": h.KnownHosts(h.Public), "vars": map[string]any{"folder": h.folder},
		}
	}
	return all
}

// code is that of a root module with these outputs. more has further ones.
func (s *site) code(inventory any, more string) string {
	s.t.Helper()
	text, err := json.Marshal(inventory)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("terraform {\n  backend \"s3\" {}\n}\noutput \"ansible_inventory\" {\n  value = jsondecode(%q)\n}\n%s", text, more)
}

// outputs applies it.
func (s *site) outputs(inventory any, more string) {
	s.t.Helper()
	s.write("environments/test/main.tf", s.code(inventory, more))
	if s.runs == 0 {
		s.run("bootstrap").must(s.t, 0)
	}
	key := s.secret["SSH_PRIVATE_KEY"]
	delete(s.secret, "SSH_PRIVATE_KEY") // these hosts have no cloud-init that apply could wait for
	s.seal()
	s.run("apply").must(s.t, 0)
	if key != "" {
		s.secret["SSH_PRIVATE_KEY"] = key
	}
	s.seal()
}

// deploy runs deploy, with Debian 13 in place of this machine's programs.
func (s *site) deploy(flags ...string) ended { s.t.Helper(); return s.inTrixie("deploy", flags...) }

func (s *site) inTrixie(stage string, flags ...string) ended {
	s.t.Helper()
	return s.runInTrixie(s.call(stage, flags...))
}

func (s *site) runInTrixie(o call) ended {
	s.t.Helper()
	var output bytes.Buffer
	cmd := s.startDeploy(o, &output)
	_ = cmd.Wait() // the result says how it ended
	return s.ending(cmd, o, output.String())
}

func (s *site) call(stage string, flags ...string) call {
	s.t.Helper()
	o := s.options(stage)
	o.Flags = flags
	return o
}

func (s *site) ending(cmd *exec.Cmd, o call, output string) ended {
	s.t.Helper()
	e := ended{code: cmd.ProcessState.ExitCode(), stdout: output, out: o.Out}
	data, err := os.ReadFile(filepath.Join(o.Out, "result.json"))
	if err == nil {
		err = json.Unmarshal(data, &e.result)
	}
	if err != nil {
		s.t.Fatalf("%v\n%s", err, output)
	}
	if e.result.ExitCode != e.code {
		s.t.Fatalf("the exit code is %d, and the result says %d", e.code, e.result.ExitCode)
	}
	return e
}

// startDeploy starts a stage in a mount namespace of its own: Ansible needs its own Python, and ssh an entry
// for the tools' user.
func (s *site) startDeploy(o call, output io.Writer) *exec.Cmd {
	s.t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	// Where ssh, which runs as the tools' user, reaches it.
	self := filepath.Join(o.Work, "slipway")
	if err := os.Link(os.Args[0], self); err != nil {
		s.t.Fatal(err)
	}
	cmd := openssh.In(s.t, ansibleRoot, self)
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_STAGE="+string(text))
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID
	testkit.Start(s.t, cmd)
	return cmd
}

// newHost starts a server. The disk of a host named full is full.
func newHost(t *testing.T, name, address, operator string) *sshHost {
	t.Helper()
	h := &sshHost{folder: testkit.ForTools(t)}
	if name == "full" {
		if err := syscall.Mount("tmpfs", h.folder, "tmpfs", 0, "size=4k"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(h.folder, syscall.MNT_DETACH) })
		if err := os.WriteFile(filepath.Join(h.folder, "old"), make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.Server = openssh.Start(t, openssh.Config{Root: ansibleRoot, Address: address, Port: openssh.FreePort(t, address), Operator: operator})
	return h
}

// read returns a file that a task wrote; empty if there is none.
func (h *sshHost) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}
