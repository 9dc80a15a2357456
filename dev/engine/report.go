package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"slipway/dev/engine/console"
)

// status shows which engine is used. It fails if there is none.
func status(ctx context.Context, s settings) error {
	other, err := s.otherEngine(ctx)
	if err != nil {
		return err
	}
	if other != nil {
		fmt.Println("engine:   " + other.what)
		return nil
	}
	if !s.running(ctx) {
		return console.Refuse("make engine", "no engine is running")
	}
	fmt.Println("engine:   " + answering(s.engineAnswers(ctx)) + " at " + s.runnerHost())
	fmt.Println("registry: " + answering(s.registryAnswers(ctx)) + " at " + s.registryAddress())
	fmt.Println("pins:     " + localPinsPath)
	fmt.Println("cache:    " + s.cache)
	fmt.Println("log:      " + s.logFile())
	if !s.current(ctx) || !s.pinned() {
		return console.Refuse("make engine", "the running engine does not match this checkout")
	}
	return nil
}

func answering(yes bool) string {
	if yes {
		return "answers"
	}
	return "does not respond"
}

// printEnv prints what a shell evaluates so that `dagger` reaches the engine.
func printEnv(ctx context.Context, s settings) error {
	if s.running(ctx) {
		fmt.Printf("export %s=%s\n", runnerHostVariable, s.runnerHost())
		fmt.Printf("export PATH=%s:\"$PATH\"\n", s.bin())
		return nil
	}
	other, err := s.otherEngine(ctx)
	if err != nil {
		return err
	}
	if other == nil {
		return console.Refuse("make engine", "no engine is running")
	}
	fmt.Printf("# %s: nothing to set\n", other.what)
	return nil
}

// logs prints the log of the engine and the registry.
func logs(s settings) error {
	f, err := os.Open(s.logFile())
	if errors.Is(err, fs.ErrNotExist) {
		return console.Refuse("make engine", "there is no log: this machine's own engine is not running")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(os.Stdout, f)
	return err
}
