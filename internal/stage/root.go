package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"slipway/internal/environment"
	"slipway/internal/plan"
	"slipway/internal/printable"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// A Layer is one layer of the environment at work.
type Layer struct {
	*Run
	Config environment.Layer
	Name   string
	Key    string // of its state
	Dir    string // in the work folder
	Tool   tofu.Runner
	Row    *LayerResult // of the result
	Stamp  state.Stamp  // of the state, when init looked at it

	Creates, Replaces []string // addresses that the plan at hand makes, and those of them in the place of something

	// What tofu said that may hold values. It is shown when the redactor knows
	// all of them, and only of a command that failed.
	Diagnostics []tofu.Diagnostic
	ToolOutput  ToolOutput
	Unwritten   bool            // an apply ended, and what it made may not be in the state
	Dumped      json.RawMessage // the state that an apply could not even write to a file
}

// ToolOutput keeps the first part of an output. What a tool prints to its two outputs may come
// at once. The buffer is not embedded: by its ReadFrom io.Copy would go past Write, and
// keep all.
type ToolOutput struct {
	lock sync.Mutex
	kept bytes.Buffer
}

// maxNoise bounds what a tool that prints without end can take of the memory.
const maxNoise = 32 << 20

func (n *ToolOutput) Write(p []byte) (int, error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.kept.Write(p[:min(maxNoise-n.kept.Len(), len(p))])
	return len(p), nil
}

func (n *ToolOutput) String() string {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.kept.String()
}

func (n *ToolOutput) Reset() {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.kept.Reset()
}

// Layers copies the repository and makes the chosen layers ready, in order.
func (s *Run) Layers() ([]*Layer, error) {
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	if names := s.unused(); len(names) > 0 {
		s.Say("note: tofu is not given %s: no provider is known to read them", strings.Join(names, ", "))
	}
	s.Tools = digestTools()
	var roots []*Layer
	for _, layer := range s.Environment.Layers {
		name := s.Environment.LayerName(layer)
		if s.OnlyLayer != "" && s.OnlyLayer != name {
			continue
		}
		r := &Layer{
			Run: s, Config: layer, Name: name,
			Key: s.Environment.StateKey(layer),
			Dir: s.Path("repository", s.Environment.Dir(layer)),
			Row: &LayerResult{Name: name, Changes: map[string]int{}},
		}
		if err := s.RefuseForeign(s.Environment, s.Environment.Dir(layer)); err != nil {
			return nil, err
		}
		env, err := r.Variables()
		if err != nil {
			return nil, err
		}
		r.Tool = tofu.Runner{Dir: r.Dir, Env: env, Stderr: &r.ToolOutput}
		s.Result.Layers = append(s.Result.Layers, r.Row)
		roots = append(roots, r)
	}
	return roots, nil
}

// FileName is the layer's name as that of a file.
func (r *Layer) FileName() string { return strings.ReplaceAll(r.Name, "/", "--") }

func (r *Layer) PlanFile() string { return r.Path("plans", r.FileName()) }

// Init connects the root to its state.
func (r *Layer) Init(ctx context.Context) error {
	// The state must be whole, and sealed, before tofu looks at it.
	var err error
	if r.Stamp, err = r.StateStamp(ctx, r.Key); err != nil {
		return err
	}
	config, err := r.settings()
	if err != nil {
		return err
	}
	return r.Timed("init "+r.Name, func() error {
		code, err := r.Tool.Run(ctx, &r.ToolOutput, config.Args()...)
		if err != nil || code != tofu.ExitOK {
			return r.refuseProvider(r.ToolOutput.String(), r.Failed(ctx, "init", err))
		}
		r.ToolOutput.Reset()
		return r.RefuseFetched(r.Environment, r.Dir, r.Path("data", r.FileName()))
	})
}

// settings say where tofu finds the state, and keep it from changing a lock file that
// is there.
func (r *Layer) settings() (config tofu.Init, err error) {
	if r.Store != nil {
		config.Backend = r.Bucket().Backend(r.Key)
	} else {
		config.Backend = r.Server().Backend(r.Key)
	}
	_, err = os.Stat(r.LockFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tofu.Init{}, err
	}
	config.ReadOnly = err == nil
	return config, nil
}

func (r *Layer) LockFile() string { return filepath.Join(r.Dir, ".terraform.lock.hcl") }

// StateStamp reads that of a state; it is zero if there is none.
func (s *Run) StateStamp(ctx context.Context, key string) (state.Stamp, error) {
	read := s.Server().Stamp
	if s.Store != nil {
		read = s.Store.Stamp
	}
	stamp, err := read(ctx, key)
	if errors.Is(err, state.ErrNone) {
		err = nil
	}
	return stamp, err
}

// Tofu runs a command of tofu, which command names in an error.
func (r *Layer) Tofu(ctx context.Context, command string, args ...string) error {
	code, err := r.Tool.Events(ctx, r.event(nil), r.other, args...)
	if err != nil || code != tofu.ExitOK {
		return r.Failed(ctx, command, err)
	}
	return nil
}

// TofuOutput is run, and returns what the command prints.
func (r *Layer) TofuOutput(ctx context.Context, command string, args ...string) ([]byte, error) {
	data, code, err := r.Tool.Output(ctx, args...)
	if err != nil || code != tofu.ExitOK {
		return nil, r.Failed(ctx, command, err)
	}
	return data, nil
}

// Failed makes the error of a tofu command that did not end well, and shows why.
// Where not all values are known that it may hold, a tool's own text is dropped.
func (r *Layer) Failed(ctx context.Context, command string, err error) error {
	doubt := r.doubt(ctx, command)
	dropped := false
	for _, d := range r.Diagnostics {
		if d.Severity != "error" {
			continue
		}
		if doubt != "" && !ofState(d) {
			d.Summary, d.Detail, dropped = "dropped", "", true
		}
		r.complain(explain(d))
	}
	if text := r.ToolOutput.String(); text != "" {
		if doubt == "" {
			r.complain(strings.TrimSpace(text))
		} else {
			dropped = true
		}
	}
	if dropped {
		r.complain("what tofu said of this is dropped, as it may hold secrets: " + doubt)
	}
	r.ToolOutput.Reset()
	if ctx.Err() != nil {
		return fmt.Errorf("tofu %s of %s was stopped", command, r.Name)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("tofu %s of %s failed", command, r.Name)
}

// doubt says why the redactor may not know all values that a failed command can
// have told of. It is empty if there is no reason.
func (r *Layer) doubt(ctx context.Context, command string) string {
	if command == "init" {
		return "" // it evaluates nothing
	}
	if r.Unwritten {
		return "the state that this run made could not be written, and its sensitive values are not known"
	}
	if ctx.Err() != nil {
		return "the run was stopped before the sensitive values of the state could be read"
	}
	if err := r.Learn(ctx); err != nil {
		return "the state could not be read, and its sensitive values are not known"
	}
	return ""
}

// ofState says that a diagnostic is tofu's own, of what became of the state.
func ofState(d tofu.Diagnostic) bool {
	summary := strings.ToLower(d.Summary)
	return d.Address == "" && d.Range == nil && (strings.Contains(summary, "state") || strings.Contains(summary, "encryption") || strings.Contains(summary, "decrypt"))
}

// complain keeps a tool's own words for the console.
func (r *Layer) complain(text string) { r.Complaints.WriteString(r.Name + ": " + plain(text) + "\n") }

// ComplainsOfState says that tofu told of an error with the state, such as that it could
// not be written.
func (r *Layer) ComplainsOfState() bool {
	return slices.ContainsFunc(r.Diagnostics, func(d tofu.Diagnostic) bool { return d.Severity == "error" && ofState(d) })
}

// Learn has the redactor know what the state holds that is marked as sensitive.
func (r *Layer) Learn(ctx context.Context) error {
	tool := r.Tool
	tool.Stderr = nil
	data, code, err := tool.Output(ctx, tofu.ShowStateArgs()...)
	if err != nil {
		return err
	}
	if code != tofu.ExitOK {
		return fmt.Errorf("tofu show ended with code %d", code)
	}
	values, err := plan.Sensitive(data)
	r.AddMarked(values...)
	return err
}

// explain writes a diagnostic as a few lines.
func explain(d tofu.Diagnostic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", d.Severity, d.Summary)
	var where []string
	if d.Address != "" {
		where = append(where, d.Address)
	}
	if d.Range != nil {
		where = append(where, fmt.Sprintf("%s:%d", d.Range.File, d.Range.Start.Line))
	}
	if len(where) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(where, ", "))
	}
	for line := range strings.Lines(strings.TrimSpace(d.Detail)) {
		b.WriteString("\n  " + strings.TrimRight(line, "\n"))
	}
	return plain(b.String())
}

// plain takes what could steer a terminal out of a text.
func plain(text string) string { return printable.Terminal(text) }
