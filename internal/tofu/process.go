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

// A Runner runs tofu in one root module, as the tools' own user.
type Runner struct {
	Dir    string   // the root module
	Env    []string // the complete environment: nothing is inherited
	Stderr io.Writer
}

// Exit codes of `tofu plan -detailed-exitcode`; other commands use the first two.
const (
	ExitOK      = 0
	ExitError   = 1
	ExitChanges = 2
)

var (
	// ErrNotStarted means that tofu did not run at all.
	ErrNotStarted = errors.New("tofu was not started")
	// ErrKilled means that tofu was killed by a signal: pending writes are lost.
	ErrKilled = errors.New("tofu was killed")
	// ErrKill, as the cause of a context's end, makes Run kill tofu instead of asking it to stop.
	ErrKill = errors.New("kill it")
)

// Run starts tofu and waits for it. Its output goes to stdout. Run returns the exit code; it
// returns an error only if there was none.
//
// When ctx ends, tofu gets one SIGINT: it then writes its state and releases its lock. It never
// gets a second signal and is never killed, because it would then exit without doing so, unless the
// cause of the context's end is ErrKill.
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
		// Without tofu its providers would continue. They may have ended with it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return 0, fmt.Errorf("%w: tofu %s: %w", ErrKilled, args[0], err)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return code, fmt.Errorf("run tofu %s: %w", args[0], err)
	}
	return code, nil
}

// Output is Run for commands whose complete output is one value.
func (r Runner) Output(ctx context.Context, args ...string) ([]byte, int, error) {
	var out bytes.Buffer
	code, err := r.Run(ctx, &out, args...)
	return out.Bytes(), code, err
}

// Read is Run for commands whose output is too large to keep: read gets it as it is printed. The
// first result is the error of read.
func (r Runner) Read(ctx context.Context, read func(io.Reader) error, args ...string) (readErr error, code int, err error) {
	reader, writer := io.Pipe()
	done := make(chan error)
	go func() {
		err := read(reader)
		_, _ = io.Copy(io.Discard, reader) // tofu must not block on us
		done <- err
	}()
	code, err = r.Run(ctx, writer, args...)
	if closeErr := writer.Close(); err == nil {
		err = closeErr
	}
	return <-done, code, err
}

// Events is Run for commands that print events: each is called for every event as it arrives, and
// other for lines that are not events.
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
				// Only the close below ends the pipe.
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
