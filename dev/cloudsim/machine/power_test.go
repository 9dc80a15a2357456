package machine

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"
)

// The kernel kills the first process of a server that switches itself off by SIGINT, of
// one that reboots by SIGHUP, and we kill by SIGKILL.
func TestSwitchedOff(t *testing.T) {
	for script, want := range map[string]bool{
		"kill -INT $$": true, "kill -HUP $$": false, "kill -KILL $$": false, "exit 0": false, "exit 2": false,
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := switchedOff(cmd.ProcessState); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
}

// A machine can tell that its server has switched itself off, and asking does not.
func TestOff(t *testing.T) {
	rack, err := NewRack(filepath.Join(t.TempDir(), "machines.json"), func() ([]Server, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	var off []string
	rack.Off = func(id string) error {
		off = append(off, id)
		return nil
	}
	server := httptest.NewServer(rack)
	t.Cleanup(server.Close)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+Path+"one?"+offKey+"=a", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", response, err)
		}
		response.Body.Close()
		if method == http.MethodGet && len(off) > 0 {
			t.Errorf("asking switches it off: %q", off)
		}
	}
	if len(off) != 1 || off[0] != "a" {
		t.Errorf("%q", off)
	}
}
