package testkit

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// Start starts a program that belongs to the test: it is killed with its process group when the test ends,
// and alone when the process of the test dies.
func Start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	started, over := make(chan error), make(chan struct{})
	go func() {
		// The death signal is sent when the thread ends that started the program. Without the lock, that thread
		// may run confine.Run next, and end with it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		<-over
	}()
	err := <-started
	t.Cleanup(func() {
		if err == nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait() // unless the test has
		}
		close(over)
	})
	if err != nil {
		t.Fatalf("%s: %v", cmd.Path, err)
	}
}
