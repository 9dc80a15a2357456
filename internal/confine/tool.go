package confine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"slipway/internal/processes"
)

// A Tool is a program that runs as the tools' own user.
type Tool struct {
	Name   string   // of the program, in our own PATH
	Dir    string   // its working folder
	Env    []string // the complete environment: nothing is inherited
	Stderr io.Writer
	// Group means that the whole process group is asked to stop and, as long as the program does not end, all
	// other programs that it has started. What does not end within a minute is killed. By default only the
	// program itself is asked, and has all the time that it needs to end well.
	Group bool
}

var (
	// ErrNotStarted means that the tool did not run at all.
	ErrNotStarted = errors.New("not started")
	// ErrKilled means that the tool was killed by a signal: pending writes are lost.
	ErrKilled = errors.New("killed")
	// ErrKill, as the cause of a context's end, makes Run kill the tool instead of asking it to stop.
	ErrKill = errors.New("kill it")
)

// Run starts the tool and waits for it. Its output goes to stdout. Run returns the exit code; it
// returns an error only if there was none. When ctx ends, the tool gets one SIGINT.
func (t Tool) Run(ctx context.Context, stdout io.Writer, args ...string) (int, error) {
	cmd := Command(ctx, t.Name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.Dir, stdout, t.Stderr
	cmd.Env = append(cmd.Env, t.Env...)
	ended := make(chan struct{})
	var insisting sync.WaitGroup
	cmd.Cancel = func() error {
		switch {
		case errors.Is(context.Cause(ctx), ErrKill):
			return signal(cmd, syscall.SIGKILL)
		case t.Group:
			insisting.Go(func() { insist(cmd, ended) })
			return signal(cmd, syscall.SIGINT)
		}
		return cmd.Process.Signal(os.Interrupt)
	}
	err := Run(cmd)
	close(ended)
	insisting.Wait() // it sends no signal after the return: another process may have the ID by then
	if cmd.ProcessState == nil {
		return 0, fmt.Errorf("%s was %w: %s: %w", t.Name, ErrNotStarted, args[0], err)
	}
	code := cmd.ProcessState.ExitCode()
	if code < 0 {
		return 0, fmt.Errorf("%s was %w: %[1]s %[3]s: %[4]w", t.Name, ErrKilled, args[0], err)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return code, fmt.Errorf("run %s %s: %w", t.Name, args[0], err)
	}
	return code, nil
}

// patience is how long a program may take to end when it was asked to.
var patience = time.Minute

// insist asks everything that a program has started to stop, every two seconds until the program has ended, and
// kills it in the end.
//
// Ansible passes the signal on to its workers, which have sessions of their own, and waits for them. A worker that
// is just being started misses it.
func insist(cmd *exec.Cmd, ended <-chan struct{}) {
	again, enough := time.NewTicker(2*time.Second), time.NewTimer(patience)
	defer again.Stop()
	defer enough.Stop()
	for {
		select {
		case <-ended:
			return
		case <-enough.C:
			// While it is stopped, it can neither start others nor end as if all were well when they are gone.
			_ = signal(cmd, syscall.SIGSTOP)
			for _, child := range processes.Descendants(cmd.Process.Pid) {
				_ = syscall.Kill(child, syscall.SIGKILL)
			}
			_ = signal(cmd, syscall.SIGKILL)
			return
		case <-again.C:
		}
		for _, child := range processes.Descendants(cmd.Process.Pid) {
			_ = syscall.Kill(child, syscall.SIGINT)
		}
	}
}

// Lines is Run for tools that print one thing per line: each is called with every line that is not
// empty, as it arrives.
func (t Tool) Lines(ctx context.Context, each func(line []byte), args ...string) (int, error) {
	read, write := io.Pipe()
	done := make(chan struct{})
	go func() {
		lines := bufio.NewReader(read)
		for {
			line, err := lines.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				each(line)
			}
			if err != nil {
				// Only the close below ends the pipe.
				close(done)
				return
			}
		}
	}()
	code, err := t.Run(ctx, write, args...)
	if closeErr := write.Close(); err == nil {
		err = closeErr
	}
	<-done
	return code, err
}
