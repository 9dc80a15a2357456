//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"slipway/internal/testkit"
)

// notRun are the commands of the guides about a deployed system that are not run here, and why.
var notRun = map[string]string{
	"dagger call verify --env=local --only=https,flow":                      "TestWorkflows makes this call; the same checks are part of the line before it",
	"go test -tags e2e -v -count=1 -run 'TestAnsibleLint|TestRoles$' ./e2e": "are tests of this package",
	"npm ci && npm test": "needs Node.js on this machine, and no environment",
}

// TestGuidesOfASite deploys environment local once, and does there what the guides say, line by line as
// it is written. Then secrets are put into all that a playbook can do with them: none is in the
// engine's store or log, or in what the calls print.
func TestGuidesOfASite(t *testing.T) {
	testkit.Deep(t, "it deploys a whole site and searches the engine's store")
	c := newCheckout(t)
	copyRepository(t, c.dir)
	// These were copied, too, and are of this test.
	c.file(t, filepath.Join(c.dir, ".sops.yaml"), "creation_rules:\n  - path_regex: ^credentials/\n    age: "+c.key.Recipient().String()+"\n")
	more := map[string]string{"SSH_PRIVATE_KEY": c.host}
	used := []string{c.key.String()}
	for name := range siteCredentials() {
		more[name] = canary(strings.ReplaceAll(name, "_", ""))
		used = append(used, more[name])
	}
	for _, class := range []string{"template", "message", "fact", "name"} {
		more["ANSIBLE_VAR_canary_"+class] = canary(class)
		used = append(used, more["ANSIBLE_VAR_canary_"+class])
	}
	c.seal(t, more)
	c.file(t, filepath.Join(c.dir, ".env"), "AGEKEY=file://"+c.identity+"\nPINS="+pinsInUse(t)+"\nLOCALDATA="+c.data+"\n")
	var output strings.Builder
	shell := func(dir, command string) result {
		t.Helper()
		r := runIn(t, dir, nil, "bash", "-c", command)
		output.WriteString(r.stdout + r.stderr)
		return r
	}
	shell(c.dir, "dagger --progress=plain call up --env=local").must(t)

	done := map[string]bool{}
	for _, guide := range []string{"deploy.md", "verify.md", "roles.md", "backend.md"} {
		text, err := os.ReadFile(filepath.Join(c.dir, "docs", guide))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range consoleBlocks(string(text)) {
			dir := c.dir
			for _, line := range linesOf(block) {
				command, _, _ := strings.Cut(line.command, " #")
				command = strings.TrimSpace(command)
				if folder, rest, _ := strings.Cut(command, " && "); strings.HasPrefix(folder, "cd ") {
					dir, command = filepath.Join(dir, strings.TrimPrefix(folder, "cd ")), rest
				}
				if command == "" || done[command] || notRun[command] != "" {
					done[command] = true
					continue
				}
				done[command] = true
				r := shell(dir, command).must(t)
				for _, want := range line.prints {
					if !likeInGuide(want).MatchString(r.stdout) {
						t.Errorf("%s: %s does not print %q\n%s", guide, command, want, r.stdout)
					}
				}
				// The system was deployed before.
				if strings.HasPrefix(command, "dagger call deploy") && !regexp.MustCompile(`(?m)^local-backend +ok +[0-9]+ +0 +0 +0$`).MatchString(r.stdout) {
					t.Errorf("%s: %s changes something\n%s", guide, command, r.stdout)
				}
			}
		}
	}
	for command := range notRun {
		if !done[command] {
			t.Errorf("no guide has %q", command)
		}
	}

	c.file(t, filepath.Join(c.dir, "ansible/playbooks/canaries.yml"), canaryPlaybook)
	c.file(t, filepath.Join(c.dir, "ansible/canaries.j2"), "template = {{ canary_template }}\nencoded = {{ canary_template | b64encode }}\n")
	c.change(t, "environments/local/environment.yaml", "playbook: site.yml", "playbook: canaries.yml")
	shell(c.dir, "dagger --progress=plain call --log=debug deploy --env=local --check").must(t).says(t, "+template = ***\n")
	shell(c.dir, "dagger --progress=plain call --log=debug deploy --env=local").refuses(t, `in the task "Fail with ***"`, "hint: dagger call deploy --env=local --limit=local-backend")

	m, stop := c.openMachine(t)
	var passwords map[string]string
	if err := json.Unmarshal([]byte(m.run(t, "sudo cat /root/passwords")), &passwords); err != nil || len(passwords) < 2 {
		t.Fatalf("%d passwords of the cloud: %v", len(passwords), err)
	}
	used = slices.AppendSeq(used, maps.Values(passwords))
	server := m.openstack(t).server
	stop()
	for _, secret := range shownSecrets(output.String(), used) {
		t.Errorf("the console shows %q", secret)
	}
	t.Run("store", func(t *testing.T) {
		onDisk := 0
		for secret, files := range storedSecrets(t, used) {
			for _, file := range files {
				if strings.Contains(file, "/"+server+"/") { // the server's own disk
					onDisk++
					continue
				}
				t.Errorf("%s holds %q", file, secret)
			}
		}
		if onDisk == 0 {
			t.Error("the secrets are not even on the server that needs them")
		}
	})
}

// canaryPlaybook puts secrets into all that a playbook can do with them.
const canaryPlaybook = `
- name: Use {{ canary_name }}
  hosts: all
  become: true
  gather_facts: false
  tasks:
    - name: Write a template
      ansible.builtin.template: {src: ../canaries.j2, dest: /root/canaries, mode: "0600"}
    - name: Write what the cloud has made up
      ansible.builtin.copy: {content: "{{ site_database.passwords | to_json }}", dest: /root/passwords, mode: "0600"}
    - name: Create the folder of facts
      ansible.builtin.file: {path: /etc/ansible/facts.d, state: directory, mode: "0700"}
    - name: Write a fact
      ansible.builtin.copy: {content: '{"value": "{{ canary_fact }}"}', dest: /etc/ansible/facts.d/canary.fact, mode: "0600"}
    - name: Read the facts
      ansible.builtin.setup: {gather_subset: [local]}
    - name: Show a fact
      ansible.builtin.debug: {var: ansible_facts.ansible_local}
    - name: Say each
      ansible.builtin.command: {cmd: "echo {{ item }}"}
      changed_when: true
      loop: ["{{ canary_message }}", "{{ broker_verify_password }}", "{{ site_database | to_json }}"]
    - name: Fail with {{ canary_name }}
      ansible.builtin.command: {cmd: "sh -c 'echo {{ canary_message }} {{ canary_message | b64encode }} >&2; exit 1'"}
`

// likeInGuide matches a line like one of a guide: words that have a digit differ from run to run.
func likeInGuide(line string) *regexp.Regexp {
	var words []string
	for word := range strings.FieldsSeq(line) {
		if strings.ContainsAny(word, "0123456789") {
			words = append(words, `\S+`)
		} else {
			words = append(words, regexp.QuoteMeta(word))
		}
	}
	return regexp.MustCompile(`(?m)^\s*` + strings.Join(words, " +") + `\s*$`)
}
