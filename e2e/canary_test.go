//go:build e2e

package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// canary is a secret of a class, unlike any that an earlier run may have left.
func canary(class string) string { return "canary" + class + rand.Text() }

// forms returns what to look for: a secret, and what its base64 has in common wherever it begins.
func forms(secret string) []string {
	all := []string{secret}
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
		all = append(all, encoded[(offset*8+5)/6:][:len(secret)])
	}
	return all
}

// shownSecrets returns the secrets that are in a text.
func shownSecrets(text string, secrets []string) (shown []string) {
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			if strings.Contains(text, form) {
				shown = append(shown, secret)
			}
		}
	}
	return shown
}

// storedSecrets looks through the whole store of the engine, and its log, and returns the secrets that
// are there, with the files. The store of an engine that is not ours is somewhere else: it skips the test.
func storedSecrets(t *testing.T, secrets []string) map[string][]string {
	t.Helper()
	needOwnEngine(t)
	store := filepath.Join(cacheDir(t), "store")
	if _, err := os.Stat(store); err != nil {
		t.Fatal(err)
	}
	// One that is meant to be found, where an exec leaves it.
	planted := canary("planted")
	run(t, "dagger", "--progress=plain", "core", "container", "from", "--address="+pinned(t, "DEBIAN"),
		"with-exec", "--args=sh,-c,echo "+planted+" > /planted", "sync").must(t)
	secretOf := map[string]string{}
	var patterns strings.Builder
	for _, secret := range append([]string{planted}, secrets...) {
		for _, form := range forms(secret) {
			secretOf[form] = secret
			patterns.WriteString(form + "\n")
		}
	}
	file := filepath.Join(t.TempDir(), "patterns")
	if err := os.WriteFile(file, []byte(patterns.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for match := range strings.Lines(run(t, "grep", "-raoFZ", "-f", file, store).stdout) {
		path, form, _ := strings.Cut(strings.TrimSuffix(match, "\n"), "\x00")
		found[secretOf[form]] = append(found[secretOf[form]], strings.TrimPrefix(path, store))
	}
	if len(found[planted]) == 0 {
		t.Error("the search does not find what was planted")
	}
	delete(found, planted)
	for _, secret := range shownSecrets(run(t, "make", "-s", "logs").must(t).stdout, secrets) {
		found[secret] = append(found[secret], "the engine's log")
	}
	size := int64(0)
	_ = filepath.WalkDir(store, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	t.Logf("searched %d MB", size>>20)
	return found
}
