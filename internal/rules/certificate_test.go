package rules

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/must"
)

// The script that gives the broker Caddy's certificate runs as root in a folder of the container that faces the
// internet: it copies a certificate with its key, and nothing else that lies or leads there.
func TestBrokerCertificate(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can read as another user")
	}
	template, err := os.ReadFile("../../ansible/roles/broker/templates/broker-certificate.sh.j2")
	must.Do(t, err)
	pair := func(t *testing.T) (certificate, key string) {
		t.Helper()
		dir := t.TempDir()
		out, err := exec.CommandContext(t.Context(), "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
			"-subj", "/CN=broker.example.org", "-days", "2", "-keyout", dir+"/key", "-out", dir+"/crt").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		texts := [2]string{}
		for i, name := range []string{"crt", "key"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			must.Do(t, err)
			texts[i] = string(text)
		}
		return texts[0], texts[1]
	}
	certificate, key := pair(t)
	_, otherKey := pair(t)
	const caddy = 20001
	for name, c := range map[string]struct {
		crt, key string // texts; empty: there is no file
		links    bool   // both lead to files that only root can read
		code     int
	}{
		"a certificate":       {crt: certificate, key: key},
		"none":                {code: 3},
		"no key":              {crt: certificate, code: 3},
		"another's key":       {crt: certificate, key: otherKey, code: 3},
		"two broken files":    {crt: "-----BEGIN", key: "-----BEGIN", code: 3},
		"an empty key":        {crt: certificate, key: "\n", code: 3},
		"links to a secret":   {crt: "secret of root", key: "secret of root", links: true, code: 3},
		"links to a real one": {crt: certificate, key: key, links: true, code: 3},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.Chmod(dir, 0o700)) // closed to Caddy, as on a host
			from, to := filepath.Join(dir, "caddy"), filepath.Join(dir, "site/broker/certificate")
			must.Do(t, os.MkdirAll(from, 0o700))
			must.Do(t, os.MkdirAll(to, 0o700))
			for ending, text := range map[string]string{"crt": c.crt, "key": c.key} {
				if text == "" {
					continue
				}
				file := filepath.Join(from, "broker.example.org."+ending)
				if c.links {
					secret := filepath.Join(dir, "secret."+ending)
					must.Do(t, os.WriteFile(secret, []byte(text), 0o600))
					must.Do(t, os.Symlink(secret, file))
				} else {
					must.Do(t, os.WriteFile(file, []byte(text), 0o600))
				}
				must.Do(t, os.Lchown(file, caddy, caddy))
			}
			must.Do(t, os.Chown(from, caddy, caddy))
			before, _, _ := strings.Cut(string(template), "# Before the first deployment") // which needs Docker
			script := strings.NewReplacer("{{ broker_caddy_certificates }}", from, "{{ site_folder }}", filepath.Join(dir, "site"),
				"{{ site_broker_uid }}", "0", "{{ site_caddy_uid }}", "20001", "{{ site_domain }}", "broker.example.org").Replace(before)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != c.code {
				t.Fatalf("%v: %s", err, out)
			}
			copied, _ := os.ReadFile(filepath.Join(to, "certificate.pem"))
			if text := string(copied); text != "" && c.code != 0 || c.code == 0 && text != certificate {
				t.Errorf("the broker has %q", text)
			}
			if strings.Contains(string(out), "secret of root") {
				t.Errorf("it says %s", out)
			}
			left, err := filepath.Glob(to + "/*.new")
			must.Do(t, err)
			if len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}
