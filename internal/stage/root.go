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

// A root is one layer of the environment at work.
type root struct {
	*session
	layer environment.Layer
	name  string
	key   string // of its state
	dir   string // in the work folder
	tool  tofu.Runner
	row   *Layer      // of the result
	stamp state.Stamp // of the state, when init looked at it

	creates, replaces []string // addresses that the plan at hand makes, and those of them in the place of something

	// What tofu said that may hold values. It is shown when the redactor knows
	// all of them, and only of a command that failed.
	diagnostics []tofu.Diagnostic
	warnings    []string // of the commands that went well
	noise       noise
	unwritten   bool            // an apply ended, and what it made may not be in the state
	dumped      json.RawMessage // the state that an apply could not even write to a file
}

// noise keeps the first part of an output. What a tool prints to its two outputs may come
// at once. The buffer is not embedded: by its ReadFrom io.Copy would go past Write, and
// keep all.
type noise struct {
	lock sync.Mutex
	kept bytes.Buffer
}

// maxNoise bounds what a tool that prints without end can take of the memory.
const maxNoise = 32 << 20

func (n *noise) Write(p []byte) (int, error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.kept.Write(p[:min(maxNoise-n.kept.Len(), len(p))])
	return len(p), nil
}

func (n *noise) String() string {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.kept.String()
}

func (n *noise) Reset() {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.kept.Reset()
}

// roots copies the repository and makes the chosen layers ready, in order.
func (s *session) roots() ([]*root, error) {
	if err := s.workspace(); err != nil {
		return nil, err
	}
	if names := s.unused(); len(names) > 0 {
		s.say("note: tofu is not given %s: no provider is known to read them", strings.Join(names, ", "))
	}
	s.tools = digestTools()
	var roots []*root
	for _, layer := range s.environment.Layers {
		name := s.environment.LayerName(layer)
		if s.Layer != "" && s.Layer != name {
			continue
		}
		r := &root{
			session: s, layer: layer, name: name,
			key: s.environment.StateKey(layer),
			dir: s.path("repository", s.environment.Dir(layer)),
			row: &Layer{Name: name, Changes: map[string]int{}},
		}
		if err := s.refuseForeign(s.environment, s.environment.Dir(layer)); err != nil {
			return nil, err
		}
		env, err := r.variables()
		if err != nil {
			return nil, err
		}
		r.tool = tofu.Runner{Dir: r.dir, Env: env, Stderr: &r.noise}
		s.result.Layers = append(s.result.Layers, r.row)
		roots = append(roots, r)
	}
	return roots, nil
}

// fileName is the layer's name as that of a file.
func (r *root) fileName() string { return strings.ReplaceAll(r.name, "/", "--") }

func (r *root) planFile() string { return r.path("plans", r.fileName()) }

// init connects the root to its state.
func (r *root) init(ctx context.Context) error {
	// The state must be whole, and sealed, before tofu looks at it.
	var err error
	if r.stamp, err = r.stampOf(ctx, r.key); err != nil {
		return err
	}
	config, err := r.settings()
	if err != nil {
		return err
	}
	return r.timed("init "+r.name, func() error {
		code, err := r.tool.Run(ctx, &r.noise, config.Args()...)
		if err != nil || code != tofu.ExitOK {
			return r.refuseProvider(r.noise.String(), r.failed(ctx, "init", err))
		}
		r.noise.Reset()
		return r.refuseFetched(r.environment, r.dir, r.path("data", r.fileName()))
	})
}

// settings say where tofu finds the state, and keep it from changing a lock file that
// is there.
func (r *root) settings() (config tofu.Init, err error) {
	if r.store != nil {
		config.Backend = r.bucket().Backend(r.key)
	} else {
		config.Backend = r.server().Backend(r.key)
	}
	_, err = os.Stat(r.lockFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tofu.Init{}, err
	}
	config.ReadOnly = err == nil
	return config, nil
}

func (r *root) lockFile() string { return filepath.Join(r.dir, ".terraform.lock.hcl") }

// stampOf reads that of a state; it is zero if there is none.
func (s *session) stampOf(ctx context.Context, key string) (state.Stamp, error) {
	read := s.server().Stamp
	if s.store != nil {
		read = s.store.Stamp
	}
	stamp, err := read(ctx, key)
	if errors.Is(err, state.ErrNone) {
		err = nil
	}
	return stamp, err
}

// run runs a command of tofu, which command names in an error.
func (r *root) run(ctx context.Context, command string, args ...string) error {
	code, err := r.tool.Events(ctx, r.event(nil), r.other, args...)
	if err != nil || code != tofu.ExitOK {
		return r.failed(ctx, command, err)
	}
	return nil
}

// read is run, and returns what the command prints.
func (r *root) read(ctx context.Context, command string, args ...string) ([]byte, error) {
	data, code, err := r.tool.Output(ctx, args...)
	if err != nil || code != tofu.ExitOK {
		return nil, r.failed(ctx, command, err)
	}
	return data, nil
}

// failed makes the error of a tofu command that did not end well, and shows why.
// Where not all values are known that it may hold, a tool's own text is dropped.
func (r *root) failed(ctx context.Context, command string, err error) error {
	doubt := r.doubt(ctx, command)
	dropped := false
	for _, d := range r.diagnostics {
		if d.Severity != "error" {
			continue
		}
		if doubt != "" && !ofState(d) {
			d.Summary, d.Detail, dropped = "dropped", "", true
		}
		r.complain(explain(d))
	}
	if text := r.noise.String(); text != "" {
		if doubt == "" {
			r.complain(strings.TrimSpace(text))
		} else {
			dropped = true
		}
	}
	if dropped {
		r.complain("what tofu said of this is dropped, as it may hold secrets: " + doubt)
	}
	r.noise.Reset()
	if ctx.Err() != nil {
		return fmt.Errorf("tofu %s of %s was stopped", command, r.name)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("tofu %s of %s failed", command, r.name)
}

// doubt says why the redactor may not know all values that a failed command can
// have told of. It is empty if there is no reason.
func (r *root) doubt(ctx context.Context, command string) string {
	if command == "init" {
		return "" // it evaluates nothing
	}
	if r.unwritten {
		return "the state that this run made could not be written, and its sensitive values are not known"
	}
	if ctx.Err() != nil {
		return "the run was stopped before the sensitive values of the state could be read"
	}
	if err := r.learn(ctx); err != nil {
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
func (r *root) complain(text string) { r.complaints.WriteString(r.name + ": " + plain(text) + "\n") }

// complainsOfState says that tofu told of an error with the state, such as that it could
// not be written.
func (r *root) complainsOfState() bool {
	return slices.ContainsFunc(r.diagnostics, func(d tofu.Diagnostic) bool { return d.Severity == "error" && ofState(d) })
}

// learn has the redactor know what the state holds that is marked as sensitive.
func (r *root) learn(ctx context.Context) error {
	tool := r.tool
	tool.Stderr = nil
	data, code, err := tool.Output(ctx, tofu.ShowStateArgs()...)
	if err != nil {
		return err
	}
	if code != tofu.ExitOK {
		return fmt.Errorf("tofu show ended with code %d", code)
	}
	values, err := plan.Sensitive(data)
	r.hideMarked(values...)
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
