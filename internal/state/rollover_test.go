//go:build blackbox

package state

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runTofu runs the real OpenTofu in dir, sealed by encryption, and nothing else in
// its environment.
func runTofu(t *testing.T, dir, encryption string, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "tofu", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_ENCRYPTION=" + encryption, "TF_IN_AUTOMATION=1"}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func encryption(t *testing.T, current, previous string) string {
	t.Helper()
	text, err := Encryption(current, previous)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBlackBoxRollover moves a state from one passphrase to another as an operator does: set both,
// apply once, then delete the previous one.
func TestBlackBoxRollover(t *testing.T) {
	const canary = "canary-value-in-the-state"
	dir := forTools(t)
	root := "resource \"terraform_data\" \"a\" {\n  input = \"" + canary + "\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(root), 0o644); err != nil {
		t.Fatal(err)
	}
	first, both, second := encryption(t, old, ""), encryption(t, good, old), encryption(t, good, "")
	state := func() string {
		data, err := os.ReadFile(filepath.Join(dir, "terraform.tfstate"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, step := range []struct {
		encryption string
		args       []string
		code       int
	}{
		{first, []string{"init"}, 0},
		{first, []string{"apply", "-auto-approve"}, 0},
		{second, []string{"plan"}, 1}, // too early: nothing can be read
		{both, []string{"plan", "-detailed-exitcode"}, 0},
		{both, []string{"apply", "-auto-approve"}, 0},
		{second, []string{"plan", "-detailed-exitcode"}, 0},
		{first, []string{"plan"}, 1},
	} {
		if out, code := runTofu(t, dir, step.encryption, step.args...); code != step.code {
			t.Fatalf("tofu %s: exit code %d, want %d\n%s", strings.Join(step.args, " "), code, step.code, out)
		}
		if len(step.args) > 1 && strings.Contains(state(), canary) {
			t.Fatal("the state is not sealed")
		}
	}
	if !strings.Contains(state(), "key_provider.pbkdf2."+keyName(good)) {
		t.Errorf("the state is not sealed with the new key: %.300s", state())
	}
}
