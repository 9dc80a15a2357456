package clusters

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	machine "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/clustertool"
	"slipway/internal/confine"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/kubernetes"
	"slipway/internal/run"
	"slipway/internal/talos"
	"slipway/internal/workspace"
)

// Kubectl runs kubectl on a cluster.
func Kubectl() run.Command { return toolCommand(clustertool.Kubectl, byKubeconfig) }

// Talosctl runs talosctl on the nodes of a cluster.
func Talosctl() run.Command { return toolCommand(clustertool.Talosctl, byTalosconfig) }

// Helm runs helm on a cluster.
func Helm() run.Command { return toolCommand(clustertool.Helm, byKubeconfig) }

// A logIn is how a tool is given its login.
type logIn struct {
	variable string // of its environment, with the path of the file
	make     func(spec *cluster.Cluster, bundle *machine.Bundle, lifetime time.Duration, proxy string) (talos.Login, error)
}

var (
	byKubeconfig  = logIn{"KUBECONFIG", talos.Kubeconfig}
	byTalosconfig = logIn{"TALOSCONFIG", talos.Talosconfig}
)

func toolCommand(tool clustertool.Tool, by logIn) run.Command {
	return run.Command{
		Name: "cluster-" + tool.Name, Help: "run " + tool.Name + " on a cluster, with a login for this call and its output masked",
		Arguments: "ARGUMENTS OF " + strings.ToUpper(tool.Name),
		Opens:     run.State,
		Run:       func(ctx context.Context, r *run.Run) error { return runTool(ctx, r, tool, by) },
	}
}

func runTool(ctx context.Context, r *run.Run, tool clustertool.Tool, by logIn) error {
	call, err := tool.Parse(r.Env, r.Args)
	if err != nil {
		return err
	}
	c, _, err := clusters.Reach(ctx, r)
	if err != nil {
		return err
	}
	if call, err = call.WithAddresses(c.Spec); err != nil {
		return err
	}
	if r.Inputs == "" { // the layers were not asked
		if err := workspace.Prepare(r); err != nil {
			return err
		}
	}
	t := toolRun{c, call, by}
	if call.Reads {
		return t.start(ctx)
	}
	return t.alone(ctx)
}

// A toolRun runs a tool once.
type toolRun struct {
	*clusters.Cluster
	call clustertool.Call
	by   logIn
}

// alone starts a tool that changes something, under the lock of the nodes.
func (t toolRun) alone(ctx context.Context) error {
	if err := t.NeedStore(); err != nil {
		return err
	}
	nodes := hold.Nodes(t.Run)
	call := nodes.Call
	nodes.Call = func(stage string) string {
		if stage == t.Result.Stage {
			return t.call.Again()
		}
		return call(stage)
	}
	// Nothing of its arguments: they can be secret.
	return hold.Once(ctx, nodes, t.call.String(), t.start)
}

// loginFolder has the login of a tool, below the work folder.
const loginFolder = "login"

// start runs the tool in the copy of the repository, and shows what it prints.
func (t toolRun) start(ctx context.Context) (err error) {
	env, stop, err := t.logIn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	stdout, stderr := t.Stream(t.Stdout), t.Stream(t.Stderr)
	tool := confine.Tool{Name: t.call.Tool.Name, Dir: t.Path("repository"), Env: env, Stderr: stderr, Group: true}
	var code int
	err = t.Timed(t.call.String(), func() (err error) {
		code, err = tool.Run(ctx, stdout, t.call.Args...)
		return errors.Join(err, stdout.Close(), stderr.Close())
	})
	switch {
	case ctx.Err() != nil:
		return errors.Join(fault.New(fault.Interrupted, t.call.Again(), "%s was stopped before it ended", t.call), err)
	case err != nil:
		return err
	case code == 0:
		return nil
	}
	if err := t.Refused(); err != nil {
		return err
	}
	t.Complaints.WriteString(stderr.Last()) // who calls the module sees no more of it
	return fault.Fail(t.next(), "%s ended with exit code %d", t.call, code)
}

// next is what to do about a tool that failed.
func (t toolRun) next() string {
	if t.call.Tool.Name == clustertool.Talosctl.Name && !t.call.NamesNodes() {
		return "dagger call cluster talosctl --env=" + t.Env + " --args=-n,NODE,…   # the nodes are " + clustertool.Describe(t.Spec)
	}
	return "dagger call cluster status --env=" + t.Env
}

// logIn makes a login, in a file that only the tools' user can read and that stop deletes, and returns the tool's whole
// environment.
func (t toolRun) logIn(ctx context.Context) (env []string, stop func() error, err error) {
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.Path("home"), "TMPDIR=" + t.Path("tmp")}
	way, err := openProxy(ctx, t.Cluster)
	if err != nil {
		return nil, nil, err
	}
	url := ""
	stop = func() error { return os.RemoveAll(t.Path(loginFolder)) }
	if way != nil {
		t.Mask.Add(way.Password)
		url = way.URL
		// The login names the proxy as well. talosctl takes this one where it has no login, or asks Kubernetes.
		env = append(env, "HTTPS_PROXY="+url)
		remove := stop
		stop = func() error {
			way.Stop()
			return remove()
		}
	}
	made, err := t.by.make(t.Spec, t.Secrets, kubernetes.LoginLifetime(ctx), url)
	if err == nil {
		t.Mask.Add(made.Key)
		err = t.writeLogin(made)
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return append(env, t.by.variable+"="+t.Path(loginFolder, "config")), stop, nil
}

func (t toolRun) writeLogin(made talos.Login) error {
	work := workspace.Folder(t.Run)
	if err := work.Make(loginFolder); err != nil {
		return workspace.Full(t.Run, err)
	}
	return workspace.Full(t.Run, work.Write(filepath.Join(loginFolder, "config"), made.File))
}
