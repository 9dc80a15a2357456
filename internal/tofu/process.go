package tofu

import (
	"bytes"
	"context"
	"io"

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

// The errors of Run, and the cause of a context's end that makes it kill tofu.
var (
	ErrNotStarted = confine.ErrNotStarted
	ErrKilled     = confine.ErrKilled
	ErrKill       = confine.ErrKill
)

// Run starts tofu and waits for it. Its output goes to stdout. Run returns the exit code; it
// returns an error only if there was none.
//
// When ctx ends, tofu gets one SIGINT: it then writes its state and releases its lock. It never
// gets a second signal and is never killed, because it would then exit without doing so, unless the
// cause of the context's end is ErrKill.
func (r Runner) Run(ctx context.Context, stdout io.Writer, args ...string) (int, error) {
	return r.tool().Run(ctx, stdout, args...)
}

func (r Runner) tool() confine.Tool {
	return confine.Tool{Name: "tofu", Dir: r.Dir, Env: r.Env, Stderr: r.Stderr}
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
	return r.tool().Lines(ctx, func(line []byte) {
		if e, ok := ReadEvent(line); ok {
			each(e)
		} else {
			other(line)
		}
	}, args...)
}
