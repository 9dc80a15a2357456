package main

import (
	"bytes"
	"testing"
)

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"version":          {[]string{"version"}, 0, "slipway dev\n", ""},
		"help":             {[]string{"--help"}, 0, usage, ""},
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
