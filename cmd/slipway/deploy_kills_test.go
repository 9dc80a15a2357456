//go:build blackbox

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"slipway/internal/testkit"
)

// A deploy is killed at random moments, or only its Ansible. The next one brings every host to where the playbook
// wants it, and nothing stays locked or interrupted. SLIPWAY_KILLS is how often; each takes a quarter of a minute.
func TestBlackBoxDeployKills(t *testing.T) {
	testkit.Deep(t, "it kills at random moments")
	kills := testkit.Kills(t, 5)
	s := newSite(t, "a", "b")
	s.playbook(`
- name: Write
  hosts: all
  gather_facts: false
  tasks:
    - name: Write the first file
      ansible.builtin.template: {src: ../file.j2, dest: "{{ folder }}/first", mode: "0600"}
    - name: Write the last file
      ansible.builtin.template: {src: ../file.j2, dest: "{{ folder }}/last", mode: "0600"}
`)
	began := time.Now()
	s.deploy().must(t, 0)
	takes := time.Since(began) //nolint:forbidigo // to aim with
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	interrupted, hits := 0, map[string]int{}
	for round := 0; round < 3*kills && hits["container"]+hits["ansible"] < kills; round++ {
		text := fmt.Sprintf("round %d", round)
		s.write("ansible/file.j2", text+"\n")
		var output bytes.Buffer
		o := s.call("deploy")
		cmd := s.startDeploy(o, &output)
		time.Sleep(time.Duration(random.Int64N(int64(takes)))) //nolint:forbidigo // a random moment
		program := []string{"container", "ansible"}[round%2]
		hit := false
		if program == "container" {
			hit = cmd.Process.Kill() == nil
		} else {
			hit = killOne(processes(o.Work, "ansible"))
		}
		err := cmd.Wait()
		if hit && err != nil {
			hits[program]++
		}
		o = s.call("deploy")
		dead(&o)
		e := s.runInTrixie(o).must(t, 0)
		if strings.Contains(e.stdout, "was interrupted") {
			interrupted++
		}
		for name, h := range s.hosts {
			if first, last := h.read(t, "first"), h.read(t, "last"); first != text || last != text {
				t.Errorf("round %d: %s has %q and %q", round, name, first, last)
			}
		}
		if e := s.deploy().ends(t, 0, "done", "a=ok b=ok"); strings.Contains(e.stdout, "interrupted") {
			t.Errorf("round %d: it is still told:\n%s", round, e.stdout)
		}
		s.run("plan").must(t, 0).says(t, "the playbook has not changed since run ")
	}
	t.Logf("killed: %v; %d deploys were interrupted while they held the hosts", hits, interrupted)
	if hits["container"]+hits["ansible"] < kills {
		t.Errorf("%v of %d kills hit", hits, kills)
	}
}
