package run_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/run"
)

// A link that leads out of the repository is refused before anything is read, by
// whatever stage.
func TestRefuseLinks(t *testing.T) {
	for name, c := range map[string]struct {
		links map[string]string
		says  string // empty: nothing
	}{
		"none":                    {nil, ""},
		"inside":                  {map[string]string{"modules/b": "a", "modules/a/c.tf": "../../main.tf"}, ""},
		"to nothing":              {map[string]string{"gone": "modules/none"}, ""},
		"absolute":                {map[string]string{"x": "/etc/hostname"}, "x is a symbolic link that leads out of the repository"},
		"absolute, to itself":     {map[string]string{"x": "REPOSITORY/main.tf"}, "x is a symbolic link that leads out of the repository"},
		"relative":                {map[string]string{"modules/a/x": "../../../outside"}, "modules/a/x is a symbolic link that leads out"},
		"relative, to nothing":    {map[string]string{"x": "../nothing"}, "x is a symbolic link that leads out"},
		"out and in again":        {map[string]string{"x": "../repository/main.tf"}, "x is a symbolic link that leads out"},
		"a chain":                 {map[string]string{"a": "b", "b": "modules/a/c", "modules/a/c": "../../../outside"}, "a is a symbolic link that leads out"},
		"a folder on the way":     {map[string]string{"modules/up": "..", "x": "modules/up/../outside"}, "x is a symbolic link that leads out"},
		"without an end":          {map[string]string{"a": "b", "b": "a"}, "a is a symbolic link that leads out of the repository, or a loop"},
		"in credentials":          {map[string]string{"credentials/x.enc.env": "/run/secrets/x"}, "credentials/x.enc.env is a symbolic link"},
		"in another environment":  {map[string]string{"environments/other/x.tf": "/etc/passwd"}, "environments/other/x.tf is"},
		"of a tool's":             {map[string]string{".terraform/providers/x": "/usr/share"}, ""},
		"a name to be careful of": {map[string]string{"x\x1b[31m $(id)\n::error::": "/etc"}, `x[31m $(id)\n::error:: is a symbolic link`},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			repository := filepath.Join(parent, "repository")
			for _, folder := range []string{"modules/a", "credentials", "environments/other", ".terraform/providers"} {
				if err := os.MkdirAll(filepath.Join(repository, folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{"repository/main.tf", "outside"} {
				if err := os.WriteFile(filepath.Join(parent, file), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range c.links {
				if err := os.Symlink(strings.ReplaceAll(target, "REPOSITORY", repository), filepath.Join(repository, name)); err != nil {
					t.Fatal(err)
				}
			}
			var stdout, stderr bytes.Buffer
			code := run.Main(t.Context(), run.Command{Name: "probe", Run: func(context.Context, *run.Run) error { return nil }}, run.Options{Repository: repository, Out: t.TempDir(), Stdout: &stdout, Stderr: &stderr})
			if c.says == "" {
				if strings.Contains(stderr.String(), "symbolic link") {
					t.Errorf("it is refused: %s", stderr.String())
				}
				return
			}
			if code != run.BadInput || !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), "hint: git rm -- ") || stdout.Len() > 0 {
				t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
			}
		})
	}
}

// Some commands need no repository.
func TestNoRepository(t *testing.T) {
	for _, repository := range []string{"", filepath.Join(t.TempDir(), "none")} {
		var stderr bytes.Buffer
		code := run.Main(t.Context(), run.Command{Name: "probe", Run: func(context.Context, *run.Run) error { return nil }}, run.Options{Repository: repository, Out: t.TempDir(), Stdout: &stderr, Stderr: &stderr})
		if code != run.Done || stderr.Len() > 0 {
			t.Errorf("%q: exit code %d: %s", repository, code, stderr.String())
		}
	}
}

// A password goes to no proxy without encryption.
func TestRefuseProxies(t *testing.T) {
	for _, c := range []struct {
		proxy   string
		refused bool
	}{
		{"", false}, {"http://%zz", false}, {"http://proxy.example.org:3128", false}, {"https://me:canary@proxy.example.org", false},
		{"http://me:canary@127.0.0.1:3128", false}, {"http://me:canary@localhost:3128", false}, {"http://me:canary@[::1]:3128", false},
		{"http://me:canary@proxy.example.org:3128", true}, {"http://me@192.0.2.1:3128", true}, {"socks5://me:canary@proxy.example.org", true},
	} {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			err := run.RefuseProxies(func(n string) string { return map[string]string{name: c.proxy}[n] })
			if (err != nil) != c.refused || err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("%s=%s: %v", name, c.proxy, err)
			}
		}
	}
}
