package clusters

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// logins are the commands that make one, by the name of its file.
var logins = map[string]func(context.Context, *run.Run, loginFlags) error{
	"kubeconfig":  func(_ context.Context, r *run.Run, l loginFlags) error { return makeKubeconfig(r, l) },
	"talosconfig": makeTalosconfig,
}

// setting returns a value in base64 of a kubeconfig or talosconfig, decoded.
func setting(t *testing.T, file []byte, names string) []byte {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ +(?:` + names + `): (\S+)$`).FindSubmatch(file)
	if found == nil {
		t.Fatalf("there is no %s", names)
	}
	value, err := base64.StdEncoding.DecodeString(string(found[1]))
	must.Do(t, err)
	return value
}

// A login is left sealed with the key of the call, and its own key is masked.
func TestLogin(t *testing.T) {
	v := withCluster(t)
	must.Do(t, makeSecrets(v.Run, "/nonexistent"))
	commit(v)
	must.Do(t, v.OpenCredentials())
	key := testkit.NewLoginKey(t)
	for name, login := range logins {
		t.Run(name, func(t *testing.T) {
			v.Out = t.TempDir()
			v.Progress.Reset()
			must.Do(t, login(t.Context(), v.Run, loginFlags{"90m", key.File}))
			opened := key.Open(t, v.Out)
			certificate, key := setting(t, opened, "client-certificate-data|crt"), setting(t, opened, "client-key-data|key")
			pair, err := tls.X509KeyPair(certificate, key)
			must.Do(t, err)
			if valid := pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore); valid != 10*time.Second+90*time.Minute {
				t.Errorf("it is valid for %s", valid)
			}
			if got, want := v.Progress.String(), "login to home: valid until "+pair.Leaf.NotAfter.Format(time.DateTime)+" UTC\n"; got != want {
				t.Errorf("it says %q, not %q", got, want)
			}
			if text := strings.Split(string(key), "\n")[1]; strings.Contains(v.Mask.String(string(opened)+string(key)), text) {
				t.Error("its key is not masked")
			}
		})
	}
}

// A lifetime that is not one, or too short or too long, and a key that is not one are refused. Nothing is left.
func TestLoginRefuses(t *testing.T) {
	v := withCluster(t)
	must.Do(t, v.OpenCredentials())
	key := testkit.NewLoginKey(t)
	for name, login := range logins {
		hint := "dagger call cluster " + name + " --env=test --for=8h plaintext >~/." + map[string]string{"kubeconfig": "kube", "talosconfig": "talos"}[name] + "/test)"
		for _, lifetime := range []string{"", "0", "0s", "-8h", "30s", "59.9s", "168h0m1s", "200h", "7d", "soon"} {
			must.Refuse(t, login(t.Context(), v.Run, loginFlags{lifetime, key.File}), `--for is "`+lifetime+`", want a duration from 1m to 168h`, hint)
		}
		must.Refuse(t, login(t.Context(), v.Run, loginFlags{"8h", "/nonexistent"}), "there is no key to seal the login with: a login is never shown in the clear", hint)
		for _, text := range []string{"", "nobody", key.Text[1:], key.Text + key.Text, key.Text[:42] + "=="} {
			bad := filepath.Join(t.TempDir(), "login-key")
			must.Do(t, os.WriteFile(bad, []byte(text), 0o600))
			err := login(t.Context(), v.Run, loginFlags{"8h", bad})
			must.Refuse(t, err, "the key that seals the login, "+bad+", is not 32 bytes in base64", hint)
		}
		for _, lifetime := range []string{"1m", "168h"} {
			must.Refuse(t, login(t.Context(), v.Run, loginFlags{lifetime, key.File}), "there is no file "+file, "dagger call -y cluster secrets --env=test")
		}
	}
	if left, err := os.ReadDir(v.Out); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
