package confine

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// A group is the process group of a tool and of everything that the tool starts. It ends with the
// tool and with us: a provider that went on after either would create objects that nobody records.
//
// The kernel's own signal for the death of a parent reaches the tool only. So the leader of the group
// is a shell that waits until the other end of its pipe is closed, which our death does as well, and
// then kills the group. It is not the tools' user, and no tool can stop it.
type group struct {
	leader *exec.Cmd
	ours   *os.File // the end of the pipe that nobody else has
}

func newGroup() (group, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return group{}, err
	}
	defer theirs.Close()
	leader := exec.CommandContext(context.Background(), "/bin/sh", "-c", `trap "" HUP INT QUIT TERM; read -r _; kill -KILL 0`)
	leader.Env = []string{}
	leader.Stdin = theirs
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := leader.Start(); err != nil {
		_ = ours.Close()
		return group{}, err
	}
	return group{leader, ours}, nil
}

// id is valid until end has been called.
func (g group) id() int { return g.leader.Process.Pid }

func (g group) end() {
	_ = syscall.Kill(-g.id(), syscall.SIGKILL)
	_ = g.leader.Wait()
	_ = g.ours.Close()
}

// signal sends a signal to the group of a running tool.
func signal(cmd *exec.Cmd, s syscall.Signal) error {
	id, err := syscall.Getpgid(cmd.Process.Pid)
	if err != nil {
		return os.ErrProcessDone
	}
	return syscall.Kill(-id, s)
}
