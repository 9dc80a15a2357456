package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program puts a program of that name, which runs the script, into dir.
func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Which engine is taken, by what the caller has. The programs are stand-ins: no
// Docker runs where this is tested.
func TestOtherEngine(t *testing.T) {
	const right, wrong = "echo dagger v0.19.10 x linux/amd64", "echo dagger v0.18.2 x linux/amd64"
	const newer = "echo dagger v0.19.11 x linux/amd64"
	const deaf = "[ $1 = version ] && " + right // answers for itself, but reaches no engine
	for name, c := range map[string]struct {
		host, dagger, docker string
		want                 string // the engine, or the refusal
	}{
		"nothing at all":              {"", "", "", ""},
		"only Docker":                 {"", "", "true", ""},
		"only the CLI":                {"", right, "", ""},
		"Docker and the CLI":          {"", right, "true", "Docker and the dagger in PATH"},
		"Docker and the newer CLI":    {"", newer, "true", "Docker and the dagger in PATH"},
		"Docker and another CLI":      {"", wrong, "true", ""},
		"Docker that does not answer": {"", right, "false", ""},
		"a named engine":              {"tcp://engine:1", right, "", "the engine at tcp://engine:1"},
		"a named engine and Docker":   {"tcp://engine:1", right, "true", "the engine at tcp://engine:1"},
		"a named engine that is deaf": {"tcp://engine:1", deaf, "true", ""},
		"a named engine, another CLI": {"tcp://engine:1", wrong, "", "the dagger in PATH is v0.18.2, and tcp://engine:1 needs v0.19.10 or v0.19.11"},
		"a named engine and no CLI":   {"tcp://engine:1", "", "", "there is no dagger in PATH, and tcp://engine:1 needs v0.19.10 or v0.19.11"},
		"our own":                     {"unix:///run/slipway/socket/engine.sock", right, "true", ""},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			if c.dagger != "" {
				program(t, bin, "dagger", c.dagger)
			}
			if c.docker != "" {
				program(t, bin, "docker", c.docker)
			}
			t.Setenv("PATH", bin)
			t.Setenv(runnerHostVariable, c.host)
			got, err := settings{run: "/run/slipway"}.otherEngine(t.Context())
			text := ""
			switch {
			case err != nil:
				text = err.Error()
			case got != nil:
				text = got.what
			}
			if !strings.HasPrefix(text, c.want) || (c.want == "" && text != "") {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}
