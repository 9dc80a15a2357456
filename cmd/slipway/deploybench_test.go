//go:build blackbox && bench

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway/internal/testkit/openssh"
)

// TestBenchDeploy compares a deploy that changes nothing with a bare ansible-playbook on the same
// host, with the same playbook and inventory, one after the other in turn.
func TestBenchDeploy(t *testing.T) {
	s := newSite(t, "one")
	var tasks strings.Builder
	for i := range 10 {
		fmt.Fprintf(&tasks, `
    - name: Write file %d
      ansible.builtin.template: {src: ../file.j2, dest: "{{ folder }}/%[1]d", mode: "0600"}
    - name: Create folder %[1]d
      ansible.builtin.file: {path: "{{ folder }}/folder-%[1]d", state: directory, mode: "0700"}`, i)
	}
	s.playbook("- name: Write\n  hosts: all\n  gather_facts: false\n  tasks:" + tasks.String() + "\n")
	s.write("ansible/file.j2", "the same each time\n")
	settings, err := os.ReadFile("../../ansible/ansible.cfg")
	if err != nil {
		t.Fatal(err)
	}
	s.write("ansible/ansible.cfg", string(settings))
	bare := s.bare()
	s.deploy().must(t, 0)

	var own, alone []time.Duration
	rounds := 3
	if os.Getenv("SLIPWAY_BENCH_ROUNDS") == "1" { // it runs: one round says nothing about its speed
		rounds = 1
	}
	for range rounds {
		begin := time.Now()
		s.deploy().must(t, 0).says(t, "one   ok      20  0")
		own = append(own, time.Since(begin))
		begin = time.Now()
		bare()
		alone = append(alone, time.Since(begin))
	}
	slices.Sort(own)
	slices.Sort(alone)
	deploy, playbook := own[rounds/2], alone[rounds/2]
	fmt.Printf("bare ansible-playbook, 20 tasks, nothing to change  %6.2f s\n", playbook.Seconds())
	over := deploy - playbook*115/100
	fmt.Printf("slipway deploy, the same                            %6.2f s = 1.15 × the bare playbook + %.2f s\n", deploy.Seconds(), over.Seconds())
	if over > 1500*time.Millisecond && rounds > 1 {
		t.Errorf("a deploy takes %.2f s more than 1.15 × a bare ansible-playbook", over.Seconds())
	}
}

// bare returns a function that runs ansible-playbook by itself, as the operator of the site would by hand.
func (s *site) bare() func() {
	s.t.Helper()
	folder := s.t.TempDir()
	hosts := map[string]any{}
	var known strings.Builder
	for name, h := range s.hosts {
		hosts[name] = map[string]any{"ansible_host": h.Address, "ansible_port": h.Port, "ansible_user": "root", "folder": h.folder, "ansible_ssh_private_key_file": filepath.Join(folder, "key")}
		fmt.Fprintln(&known, h.KnownHosts(h.Public))
	}
	inventory, err := json.Marshal(map[string]any{"all": map[string]any{"hosts": hosts}})
	if err != nil {
		s.t.Fatal(err)
	}
	for name, text := range map[string]string{"hosts.json": string(inventory), "known_hosts": known.String(), "key": s.private} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return func() {
		s.t.Helper()
		cmd := openssh.In(s.t, ansibleRoot, "ansible-playbook", "--inventory="+filepath.Join(folder, "hosts.json"), "playbooks/site.yml")
		cmd.Dir = filepath.Join(s.dir, "ansible")
		cmd.Env = append(os.Environ(), "HOME="+folder, "PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8", "ANSIBLE_SSH_COMMON_ARGS=-o UserKnownHostsFile="+filepath.Join(folder, "known_hosts"))
		// Not a pipe, which the SSH connection that is kept would hold open.
		output := filepath.Join(folder, "output")
		file, err := os.Create(output)
		if err != nil {
			s.t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = file, file
		err = errors.Join(cmd.Run(), file.Close())
		text, readErr := os.ReadFile(output)
		if err = errors.Join(err, readErr); err != nil || !strings.Contains(string(text), "ok=20   changed=0") {
			s.t.Fatalf("%v\n%s", err, text)
		}
	}
}
