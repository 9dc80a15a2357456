package main

import (
	"bytes"
	"strings"
	"testing"

	"slipway/internal/stage"
)

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"version": {[]string{"version"}, 0, "slipway dev\n", ""},
		"a flag that no stage has": {
			[]string{"plan", "--environ=test"}, 3, "",
			"slipway: error: plan: flag provided but not defined: -environ\nslipway: hint: slipway --help\n",
		},
		"an argument that is no flag": {
			[]string{"plan", "test"}, 3, "",
			"slipway: error: plan takes no argument \"test\"\nslipway: hint: slipway --help\n",
		},
		"no stage":         {nil, 3, "", "slipway: error: no stage is named\nslipway: hint: slipway --help\n"},
		"an unknown stage": {[]string{"aply"}, 3, "", "slipway: error: unknown stage \"aply\"\nslipway: hint: slipway --help\n"},
		"toolchain without its file": {
			[]string{"toolchain"}, 3, "",
			"slipway: error: toolchain takes --pins and a file, not []\nslipway: hint: slipway toolchain --pins ci/pins.env\n",
		},
		"toolchain with a file that is not there": {
			[]string{"toolchain", "--pins", "/nonexistent"}, 3, "",
			"slipway: error: open /nonexistent: no such file or directory\nslipway: hint: slipway toolchain --pins ci/pins.env\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), c.args, &stdout, &stderr)
			if code != c.code || stdout.String() != c.stdout || stderr.String() != c.stderr {
				t.Errorf("exit code %d\nstdout %q\nstderr %q", code, stdout.String(), stderr.String())
			}
		})
	}
}

// The help names every stage.
func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
	for _, name := range append(stage.Names(), "version", "toolchain") {
		if !strings.Contains(stdout.String(), "\n  "+name) {
			t.Errorf("the help does not name %s", name)
		}
	}
}
