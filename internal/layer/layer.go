// Package layer runs tofu on one layer of an environment: a root module and its state. tofu's
// output is only shown if every secret in it is known to the mask.
package layer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// A Layer is one layer of the environment in this run: a root module and its state.
type Layer struct {
	*run.Run
	Config environment.Layer
	Name   string
	Key    string // state key
	Dir    string // folder of its code, in the work folder
	Commit string // of the files, for the journal; empty if it is not known
	Tool   tofu.Runner
	Row    *run.LayerResult // entry in the result
	Stamp  state.Stamp      // stamp of the state when Init read it

	Creates  []string // addresses that the current plan creates
	Replaces []string // addresses in Creates that replace a resource

	// tofu's messages that may contain values. They are only shown for a command that failed, when
	// the mask knows all values.
	Diagnostics []tofu.Diagnostic
	Printed     tofu.Capture
	Warnings    []string // from commands that succeeded, without details

	Unwritten bool            // an apply ended, but what it created may not be in the state
	Dumped    json.RawMessage // a state that an apply could not even write to a file
}

// All copies the repository and returns the chosen layers, in order.
func All(r *run.Run) ([]*Layer, error) {
	if err := workspace.Prepare(r); err != nil {
		return nil, err
	}
	if names := unused(r.Credentials); len(names) > 0 {
		r.Say("note: %s not passed to tofu: no known provider reads them", strings.Join(names, ", "))
	}
	var chosen []*Layer
	for _, config := range r.Environment.Layers {
		if name := r.Environment.LayerName(config); r.OnlyLayer != "" && r.OnlyLayer != name {
			continue
		}
		l, err := open(r, config)
		if err != nil {
			return nil, err
		}
		r.Result.Layers = append(r.Result.Layers, l.Row)
		chosen = append(chosen, l)
	}
	return chosen, nil
}

// Every returns all layers, whichever are chosen, for somebody who reads their outputs. All has copied the
// repository.
func Every(r *run.Run) (layers []*Layer, err error) {
	for _, config := range r.Environment.Layers {
		l, err := open(r, config)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}

func open(r *run.Run, config environment.Layer) (*Layer, error) {
	name := r.Environment.LayerName(config)
	l := &Layer{
		Run: r, Config: config, Name: name,
		Key: r.Environment.StateKey(config),
		Dir: r.Path("repository", r.Environment.Dir(config)),
		Row: &run.LayerResult{Name: name, Changes: map[string]int{}},
	}
	if err := workspace.RefuseForeign(r, r.Environment, r.Environment.Dir(config)); err != nil {
		return nil, err
	}
	env, err := l.Variables()
	l.Tool = tofu.Runner{Dir: l.Dir, Env: env, Stderr: &l.Printed}
	return l, err
}

// Each runs f on every chosen layer, in order, connected to its state.
func Each(ctx context.Context, r *run.Run, f func(*Layer) error) error {
	layers, err := All(r)
	if err != nil {
		return err
	}
	for _, l := range layers {
		if err := l.Init(ctx); err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
	}
	return nil
}

// Init connects the layer to its state.
func (l *Layer) Init(ctx context.Context) (err error) {
	// The state must be complete and encrypted before tofu reads it.
	if l.Stamp, err = l.StateStamp(ctx, l.Key); err != nil {
		return err
	}
	config, err := l.settings()
	if err != nil {
		return err
	}
	return l.Timed("init "+l.Name, func() error {
		code, err := l.Tool.Run(ctx, &l.Printed, config.Args()...)
		if err != nil || code != tofu.ExitOK {
			return l.refuseProvider(l.Printed.String(), l.Failed(ctx, "init", err))
		}
		l.Printed.Reset()
		return workspace.RefuseFetched(l.Run, l.Environment, l.Dir, l.Path("data", l.FileName()))
	})
}

// settings tell tofu where the state is, and not to change an existing lock file.
func (l *Layer) settings() (config tofu.Init, err error) {
	if l.Store != nil {
		config.Backend = l.Bucket().Backend(l.Key)
	} else {
		config.Backend = l.Server().Backend(l.Key)
	}
	_, err = os.Stat(l.LockFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tofu.Init{}, err
	}
	config.ReadOnly = err == nil
	return config, nil
}

// LockFile returns the layer's provider lock file, in the work folder.
func (l *Layer) LockFile() string { return filepath.Join(l.Dir, tofu.LockFile) }

// FileName returns the layer's name as a file name.
func (l *Layer) FileName() string { return strings.ReplaceAll(l.Name, "/", "--") }

// PlanFile returns the path of the layer's saved plan, in the work folder.
func (l *Layer) PlanFile() string { return l.Path("plans", l.FileName()) }

// Call returns the command that runs a stage on this layer, for a hint.
func (l *Layer) Call(stage string) string { return l.CallOn(stage, l.Name) }

// Reportf adds a line to the report.
func (l *Layer) Reportf(format string, args ...any) {
	l.Report.WriteString(l.Name + ": " + printable.Terminal(fmt.Sprintf(format, args...)) + "\n")
}
