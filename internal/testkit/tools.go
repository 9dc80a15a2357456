package testkit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// ForTools returns a folder of the test that the tools, which run as another user, can reach and
// write to.
func ForTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}
