package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"slipway/dev/engine/container"
)

// A node is switched on again before the kernel has removed the interface that it had.
func TestConnectAgain(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a network")
	}
	made := func(name string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := container.NewNetwork(path); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := container.Unmount(path); err != nil {
				t.Error(err)
			}
		})
		return path
	}
	address, err := Address("cp-1")
	if err != nil {
		t.Fatal(err)
	}
	engine := made("engine")
	for _, boot := range []string{"first", "second"} {
		if err := connect(engine, made(boot), "cp-1", address); err != nil {
			t.Fatalf("%s: %v", boot, err)
		}
	}
}
