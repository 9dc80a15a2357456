package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// status says which engine is used. It fails where there is none.
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
		return refuse("make engine", "no engine runs")
	}
	fmt.Println("engine:   " + answering(s.engineAnswers(ctx)) + " at " + s.runnerHost())
	fmt.Println("registry: " + answering(s.registryAnswers(ctx)) + " at " + s.registryAddress())
	fmt.Println("pins:     " + localPinsPath)
	fmt.Println("cache:    " + s.cache)
	fmt.Println("log:      " + s.logFile())
	if !s.current(ctx) || !s.pinned() {
		return refuse("make engine", "the engine that runs is not what this checkout asks for")
	}
	return nil
}

func answering(yes bool) string {
	if yes {
		return "answers"
	}
	return "is silent"
}

// printEnv prints what a shell evaluates to reach the engine by `dagger`.
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
		return refuse("make engine", "no engine runs")
	}
	fmt.Printf("# %s: nothing to set\n", other.what)
	return nil
}

// logs copies what the engine and the registry wrote.
func logs(s settings) error {
	f, err := os.Open(s.logFile())
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("make engine", "there is no log: no engine of ours runs")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(os.Stdout, f)
	return err
}
