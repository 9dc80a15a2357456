package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"version": {[]string{"version"}, 0, "slipway dev\n", ""},
		"a flag that the command does not have": {
			[]string{"plan", "--environ=test"}, 3, "",
			"slipway: error: plan: flag provided but not defined: -environ\nslipway: hint: slipway plan --help\n",
		},
		"an argument that is not a flag": {
			[]string{"plan", "test"}, 3, "",
			"slipway: error: plan takes no argument \"test\"\nslipway: hint: slipway plan --help\n",
		},
		"no command":         {nil, 3, "", "slipway: error: no command was given\nslipway: hint: slipway --help\n"},
		"an unknown command": {[]string{"aply"}, 3, "", "slipway: error: unknown command \"aply\"\nslipway: hint: slipway --help\n"},
		"toolchain without its file": {
			[]string{"toolchain"}, 3, "",
			"slipway: error: toolchain takes --pins and a file, and --container=tofu or ansible, not []\nslipway: hint: slipway toolchain --pins ci/pins.env\n",
		},
		"toolchain with a file that is not there": {
			[]string{"toolchain", "--pins", "/nonexistent"}, 3, "",
			"slipway: error: open /nonexistent: no such file or directory\nslipway: hint: slipway toolchain --pins ci/pins.env\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := start(t.Context(), c.args, &stdout, &stderr)
			if code != c.code || stdout.String() != c.stdout || stderr.String() != c.stderr {
				t.Errorf("exit code %d\nstdout %q\nstderr %q", code, stdout.String(), stderr.String())
			}
		})
	}
}

// The help names every command, and no two are called the same.
func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := start(t.Context(), []string{"--help"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
	names := []string{"version", "toolchain"}
	for _, f := range commands {
		names = append(names, f().Name)
	}
	for i, name := range names {
		if !strings.Contains(stdout.String(), "\n  "+name+" ") {
			t.Errorf("the help does not name %s", name)
		}
		if slices.Contains(names[:i], name) {
			t.Errorf("two commands are called %s", name)
		}
	}
	stdout.Reset()
	if code := start(t.Context(), []string{"plan", "--help"}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "-keep") || !strings.Contains(stdout.String(), "-env") {
		t.Errorf("exit code %d, %s", code, stdout.String())
	}
}

// Each command has the flags that the module in ci/ gives it, and no others.
func TestFlags(t *testing.T) {
	const shared = "deadline identity out pins repo run-id work"
	for name, own := range map[string]string{
		"up": "", "bootstrap": "", "drift": "", "status": "", "start": "",
		"output": "layer", "state-list": "layer",
		"plan":    "base commit keep layer",
		"approve": "digest layer plan signature signing-key",
		"apply":   "allow-destroy digest layer plan quorum-lost reviewed",
		"deploy":  "check commit limit log tags",
		"verify":  "confirm only",
		"destroy": "allow-destroy confirm layer",
		"down":    "allow-destroy confirm",
		"stop":    "confirm",
		"ssh":     "host",
		"recover": "from layer seen",
		"unlock":  "layer lock-id",
	} {
		checkFlags(t, name, shared+" env "+own)
	}
	for name, own := range map[string]string{
		"environments": "", "fmt": "", "lint": "", "test": "", "secrets-check": "",
		"validate": "env", "lock-providers": "env",
		"secrets-init": "file", "secrets-set": "file value variable", "secrets-edit": "content file", "secrets-rotate": "file", "secrets-updatekeys": "file",
		"report": "dry-run envs github results token", "drift-issues": "dry-run envs github results token",
	} {
		checkFlags(t, name, shared+" "+own)
	}
}

func checkFlags(t *testing.T, name, want string) {
	t.Helper()
	c, ok := find(name)
	if !ok {
		t.Errorf("there is no command %s", name)
		return
	}
	var help bytes.Buffer
	c.Usage(&help)
	var flags []string
	for line := range strings.Lines(help.String()) {
		if flag, ok := strings.CutPrefix(line, "  -"); ok {
			flags = append(flags, strings.Fields(flag)[0])
		}
	}
	if wanted := slices.Sorted(slices.Values(strings.Fields(want))); !slices.Equal(flags, wanted) {
		t.Errorf("%s has the flags %q, not %q", name, flags, wanted)
	}
}
