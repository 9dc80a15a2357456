// Package container runs a privileged container by runc, with its own root, mounts, processes, host name and
// network. The host sees nothing of it outside the container's folder.
package container

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"slipway/dev/engine/build"
)

// A Container is one that may run or not.
type Container struct {
	ID    string // its name, unique in State
	Dir   string // its folder: the mount of its root, its log, and what runc reads
	State string // the folder in which runc keeps what it runs
	Group string // its control group, relative to our own group
}

// Root is where the container's root is mounted.
func (c Container) Root() string { return filepath.Join(c.Dir, "root") }

// Log is the file with all that the container's first process writes.
func (c Container) Log() string { return filepath.Join(c.Dir, c.ID+".log") }

// Mount mounts the container's root: the files of a product below a layer in the folder upper, to which the
// container writes. The product stays as it is.
func (c Container) Mount(product, upper string) error {
	layer, work := filepath.Join(upper, "upper"), filepath.Join(upper, "work")
	for _, dir := range []string{layer, work, c.Root()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", product, layer, work)
	if err := unix.Mount("overlay", c.Root(), "overlay", 0, overlay); err != nil {
		return fmt.Errorf("mount the root of %s: %w", c.ID, err)
	}
	return nil
}

// Start runs the container, and returns once it is created.
func (c Container) Start(ctx context.Context, spec *specs.Spec) error {
	data, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	bundle := filepath.Join(c.Dir, "bundle")
	if err := build.WriteFile(filepath.Join(bundle, "config.json"), data, 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(c.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.runc(ctx, "run", "--detach", "--bundle", bundle, c.ID)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("runc run: %w\n  %s", err, c.LastOfLog())
	}
	return nil
}

func (c Container) runc(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "runc", append([]string{"--root", c.State}, args...)...)
}

// Running reports whether the container's first process is alive.
func (c Container) Running(ctx context.Context) bool {
	out, err := c.runc(ctx, "state", c.ID).Output()
	var state specs.State
	return err == nil && json.Unmarshal(out, &state) == nil && state.Status == specs.StateRunning
}

// Terminate asks the container's first process to end, and waits for it as long as patience.
func (c Container) Terminate(ctx context.Context, patience time.Duration) {
	if !c.Running(ctx) || c.runc(ctx, "kill", c.ID, "TERM").Run() != nil {
		return
	}
	for end := time.Now().Add(patience); c.Running(ctx) && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
}

// Remove kills whatever is left of the container, and removes its mounts and control groups, even after a
// crash of any part of it. It deletes no file.
func (c Container) Remove(ctx context.Context) error {
	// This fails only if there is no container, which is fine.
	_ = c.runc(ctx, "delete", "--force", c.ID).Run()
	if err := Unmount(c.Root()); err != nil {
		return err
	}
	return c.removeGroups()
}

// LastOfLog returns the end of the container's log, for an error message.
func (c Container) LastOfLog() string {
	data, err := os.ReadFile(c.Log())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n  ")
}
