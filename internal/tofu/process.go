package tofu

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"slipway/internal/confine"
)

// A Runner starts tofu in one root module, as the tools' own user.
type Runner struct {
	Dir    string   // the root module
	Env    []string // all of it: nothing is inherited
	Stderr io.Writer
}

// Exit codes of `tofu plan -detailed-exitcode`; other commands use the first two.
const (
	ExitOK      = 0
	ExitError   = 1
	ExitChanges = 2
)

var (
	// ErrNotStarted says that tofu did not run at all.
	ErrNotStarted = errors.New("tofu was not started")
	// ErrKilled says that tofu ended by a signal: what it was about to write, it did not.
	ErrKilled = errors.New("tofu was killed")
	// ErrKill, as the cause of a context's end, has tofu killed instead of asked to stop.
	ErrKill = errors.New("kill it")
)

// Run starts tofu and waits for it. What it prints goes to stdout. It returns
// the exit code; the error says only that there was none.
//
// When ctx ends, tofu gets one SIGINT: it then writes its state and gives its
// lock back. It is never told twice and never killed, because the second signal
// makes it leave without doing so; unless the context ends by ErrKill.
func (r Runner) Run(ctx context.Context, stdout io.Writer, args ...string) (int, error) {
	cmd := confine.Command(ctx, "tofu", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Dir, stdout, r.Stderr
	cmd.Env = append(cmd.Env, r.Env...)
	cmd.Cancel = func() error {
		if errors.Is(context.Cause(ctx), ErrKill) {
			return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		return cmd.Process.Signal(os.Interrupt)
	}
	err := confine.Run(cmd)
	if cmd.ProcessState == nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrNotStarted, args[0], err)
	}
	code := cmd.ProcessState.ExitCode()
	if code < 0 {
		// Its providers would go on alone. It may be that they ended with it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return 0, fmt.Errorf("%w: tofu %s: %w", ErrKilled, args[0], err)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return code, fmt.Errorf("run tofu %s: %w", args[0], err)
	}
	return code, nil
}

// Output is Run for commands whose whole output is one value.
func (r Runner) Output(ctx context.Context, args ...string) ([]byte, int, error) {
	var out bytes.Buffer
	code, err := r.Run(ctx, &out, args...)
	return out.Bytes(), code, err
}

// Read is Run for commands whose output is too large to keep: read is given it as
// it comes. The first error is that of read.
func (r Runner) Read(ctx context.Context, read func(io.Reader) error, args ...string) (readErr error, code int, err error) {
	reader, writer := io.Pipe()
	done := make(chan error)
	go func() {
		err := read(reader)
		_, _ = io.Copy(io.Discard, reader) // tofu must not wait for us
		done <- err
	}()
	code, err = r.Run(ctx, writer, args...)
	if closeErr := writer.Close(); err == nil {
		err = closeErr
	}
	return <-done, code, err
}

// Events is Run for commands that print events: each is handed to each as it
// comes, and a line that is none to other.
func (r Runner) Events(ctx context.Context, each func(Event), other func(line []byte), args ...string) (int, error) {
	read, write := io.Pipe()
	done := make(chan struct{})
	go func() {
		lines := bufio.NewReader(read)
		for {
			line, err := lines.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				if e, ok := ReadEvent(line); ok {
					each(e)
				} else {
					other(line)
				}
			}
			if err != nil {
				// Nothing else ends the pipe but the close below.
				close(done)
				return
			}
		}
	}()
	code, err := r.Run(ctx, write, args...)
	if closeErr := write.Close(); err == nil {
		err = closeErr
	}
	<-done
	return code, err
}
