//go:build e2e

package e2e

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"slipway/internal/testkit"
)

// A line of a guide: a command, and what it prints as far as the guide shows it.
type guideLine struct {
	command string
	prints  []string
}

// guideLines reads the first console block below a heading of a guide.
func guideLines(t *testing.T, path, heading string) []guideLine {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := consoleBlocks(section)
	if len(blocks) == 0 {
		t.Fatalf("%s has no commands below %q", path, heading)
	}
	return linesOf(blocks[0])
}

// consoleBlocks returns the text of each console block.
func consoleBlocks(text string) (blocks []string) {
	for _, part := range strings.Split(text, "```console\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

func linesOf(block string) (lines []guideLine) {
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			lines = append(lines, guideLine{command: command})
		} else if len(lines) > 0 && line != "…" {
			last := &lines[len(lines)-1]
			last.prints = append(last.prints, line)
		}
	}
	return lines
}

// TestGuideAddAnEnvironment does what docs/modules.md says, line by line as it is
// written, in a checkout as `make up` leaves it.
func TestGuideAddAnEnvironment(t *testing.T) {
	testkit.Deep(t, "it tries a whole guide")
	t.Parallel()
	dir := t.TempDir()
	run(t, "sh", "-c", "git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "+dir).must(t)
	write := func(path, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity := write(filepath.Join(t.TempDir(), "keys.txt"), key.String()+"\n", 0o600)
	write(filepath.Join(dir, ".env"), "AGEKEY=file://"+identity+"\nPINS="+pinsInUse(t)+"\nLOCALDATA=slipway-e2e-"+rand.Text()+"\n", 0o600)
	write(filepath.Join(dir, ".sops.yaml"), "creation_rules:\n  - path_regex: ^credentials/\n    age: "+key.Recipient().String()+"\n", 0o600)
	// What the comment beside $EDITOR asks for.
	editor := write(filepath.Join(t.TempDir(), "editor"), `#!/bin/sh
sed -i -e 's/^description: .*/description: Demo of the guide/' "$1"
`, 0o700)
	shell := func(command string) result {
		t.Helper()
		return runIn(t, dir, []string{"EDITOR=" + editor}, "bash", "-c", command)
	}

	lines := guideLines(t, filepath.Join(dir, "docs/modules.md"), "Add an environment")
	if len(lines) < 5 {
		t.Fatalf("the guide has %d commands", len(lines))
	}
	for _, line := range lines {
		shell(line.command).must(t).says(t, line.prints...)
	}

	// Both files are to be filled: each call names the variables, and the command that sets one. No tool
	// is started.
	refused := func(call string, texts ...string) {
		t.Helper()
		r := shell("dagger --progress=plain call " + call)
		r.refuses(t, texts...)
		if _, message, _ := strings.Cut(r.stderr, "\nError: "); message == "" || strings.Contains(message, "tofu") {
			t.Errorf("it went on to OpenTofu:\n%s", message)
		}
	}
	const file = "credentials/demo-plan.enc.env"
	for _, call := range []string{"plan --env=demo", "apply --env=demo"} {
		refused(call, file+" has no AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, OS_PASSWORD, OS_TENANT_ID, OS_USERNAME, OVH_APPLICATION_KEY, OVH_APPLICATION_SECRET, OVH_CONSUMER_KEY; credentials/README.md says",
			"hint: dagger call secrets set --file="+file+" --variable=AWS_ACCESS_KEY_ID --value=env://VALUE")
	}

	shell("dagger call environments").must(t).says(t, "demo     no         there        demo     Demo of the guide\n")
}
