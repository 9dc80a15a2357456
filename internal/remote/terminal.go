package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"
)

// Terminal opens a shell on the host in this process's terminal, and returns when the shell ends. A
// non-zero exit code of the shell is not an error.
func Terminal(ctx context.Context, client *ssh.Client) error {
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	defer session.Close()
	session.Stdin, session.Stdout, session.Stderr = os.Stdin, os.Stdout, os.Stderr
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		return errors.New("there is no terminal to open a shell in")
	}
	before, err := term.MakeRaw(in)
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(in, before) }()
	width, height, err := term.GetSize(in)
	if err != nil {
		return err
	}
	kind := os.Getenv("TERM")
	if kind == "" {
		kind = "xterm-256color"
	}
	if err := session.RequestPty(kind, height, width, ssh.TerminalModes{ssh.ECHO: 1}); err != nil {
		return fmt.Errorf("request a terminal: %w", err)
	}
	if err := session.Shell(); err != nil {
		return fmt.Errorf("start a shell: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go follow(ctx, in, session)
	err = session.Wait()
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// follow tells the host when the terminal is resized.
func follow(ctx context.Context, in int, session *ssh.Session) {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	defer signal.Stop(changes)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
			if width, height, err := term.GetSize(in); err == nil {
				_ = session.WindowChange(height, width)
			}
		}
	}
}
