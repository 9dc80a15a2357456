package clusters

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/clustertool"
	"slipway/internal/confine"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/testkit/bastion"
	"slipway/internal/testkit/machines"
	"slipway/internal/testkit/soon"
	"slipway/internal/workspace"
)

// A bench is a cluster on which tools run whose programs are scripts.
type bench struct {
	*clusters.Cluster
	desk           *testkit.Desk
	left           string // a folder to which the scripts may write, in $LEFT
	stdout, stderr *bytes.Buffer
}

// newBench makes one. The script is every tool.
func newBench(t *testing.T, script string) *bench {
	t.Helper()
	m, d := machines.New(t, 1, "v1.14.1"), testkit.New(t)
	d.Repository, d.Work = t.TempDir(), testkit.ForTools(t)
	b := &bench{desk: d, left: testkit.ForTools(t), stdout: d.Stdout.(*bytes.Buffer), stderr: d.Stderr.(*bytes.Buffer)}
	b.Cluster = &clusters.Cluster{Run: d.Run, Spec: m.Spec, Secrets: m.Bundle, Listed: true}
	must.Do(t, workspace.Prepare(d.Run))
	bin := testkit.ForTools(t)
	for _, tool := range []clustertool.Tool{clustertool.Kubectl, clustertool.Talosctl, clustertool.Helm} {
		must.Do(t, os.WriteFile(filepath.Join(bin, tool.Name), []byte("#!/bin/sh\nLEFT="+b.left+"\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	d.Key = hold.Nodes(d.Run).Key
	return b
}

// use runs a tool with arguments as in a shell.
func (b *bench) use(ctx context.Context, tool clustertool.Tool, args string) error {
	b.Result.Stage = "cluster-" + tool.Name
	call, err := tool.Parse(b.Env, strings.Fields(args))
	if err != nil {
		return err
	}
	by := byKubeconfig
	if tool.Name == clustertool.Talosctl.Name {
		by = byTalosconfig
	}
	t := toolRun{b.Cluster, call, by}
	if call.Reads {
		return t.start(ctx)
	}
	return t.alone(ctx)
}

// read returns what a script has left.
func (b *bench) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.left, name))
	must.Do(t, err)
	return string(data)
}

// A tool runs in the copy of the repository, as the tools' user, with a login in a file that nobody else reads, and
// nothing of our environment. What it prints is shown without its key. Afterwards the file is gone.
func TestTool(t *testing.T) {
	t.Setenv("OUR_SECRET", "canary")
	for _, tool := range []clustertool.Tool{clustertool.Kubectl, clustertool.Talosctl, clustertool.Helm} {
		t.Run(tool.Name, func(t *testing.T) {
			b := newBench(t, `login=$KUBECONFIG$TALOSCONFIG
cat "$login" >$LEFT/login; stat -c '%a %u' "$login" >$LEFT/mode; env | sort >$LEFT/env; id -u >$LEFT/user; pwd >$LEFT/pwd
echo "arguments: $*"; cat "$login"; cat "$login" >&2`)
			must.Do(t, b.use(t.Context(), tool, "version --short"))
			login := b.read(t, "login")
			key := setting(t, []byte(login), "client-key-data|key")
			for name, text := range map[string]string{"stdout": b.stdout.String(), "stderr": b.stderr.String()} {
				if strings.Contains(text, string(key)) || !strings.Contains(text, ": ***\n") || strings.Count(text, "\n") != strings.Count(login, "\n")+map[string]int{"stdout": 1}[name] {
					t.Errorf("on %s:\n%s", name, text)
				}
			}
			if !strings.HasPrefix(b.stdout.String(), "arguments: version --short\n") {
				t.Errorf("got %s", b.stdout)
			}
			variable, user := "KUBECONFIG", "65532"
			if tool.Name == "talosctl" {
				variable = "TALOSCONFIG"
			}
			if !confine.Switches() {
				user = strings.TrimSpace(b.read(t, "user"))
			}
			if got := b.read(t, "user") + b.read(t, "mode") + b.read(t, "pwd"); got != user+"\n600 "+user+"\n"+b.Path("repository")+"\n" {
				t.Errorf("user, mode and folder are %q", got)
			}
			env := b.read(t, "env")
			for _, want := range []string{variable + "=" + b.Path("login/config"), "HOME=" + b.Path("home"), "TMPDIR=" + b.Path("tmp"), "PATH="} {
				if !strings.Contains(env, want) {
					t.Errorf("there is no %s in\n%s", want, env)
				}
			}
			if strings.Contains(env, "canary") || strings.Contains(env, "PROXY") {
				t.Errorf("it has\n%s", env)
			}
			if _, err := os.Stat(b.Path("login")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("its login is left: %v", err)
			}
		})
	}
}

// A tool that fails says so with its code, and its last messages are in the result of the call.
func TestToolFails(t *testing.T) {
	b := newBench(t, `echo out; echo "Error: no canary-of-ours there" >&2; exit 7`)
	b.Mask.Add("canary-of-ours")
	err := b.use(t.Context(), clustertool.Kubectl, "get pods")
	must.Fail(t, err, "kubectl get ended with exit code 7")
	must.Hint(t, err, "dagger call cluster status --env=test")
	err = b.use(t.Context(), clustertool.Talosctl, "-n "+b.Spec.Nodes[0].Address+" version")
	must.Hint(t, err, "dagger call cluster status --env=test")
	err = b.use(t.Context(), clustertool.Talosctl, "version")
	must.Hint(t, err, "dagger call cluster talosctl --env=test --args=-n,NODE,…   # the nodes are "+clustertool.Describe(b.Spec))
	if b.End(err) != run.Failed {
		t.Error("it did not fail")
	}
	if got, want := b.stdout.String(), strings.Repeat("out\n", 3)+strings.Repeat("Error: no *** there\n", 3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"result.json", "summary.md"} {
		if text, err := os.ReadFile(filepath.Join(b.Out, name)); err != nil || strings.Contains(string(text), "there") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// A tool that is stopped, by the deadline for example, is asked to end, and the call says that it was interrupted.
func TestToolStopped(t *testing.T) {
	b := newBench(t, `trap 'echo asked >$LEFT/asked; exit 0' INT; touch $LEFT/started; while :; do sleep 0.02; done`)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		soon.Wait(t, "the tool works", func() bool { _, err := os.Stat(filepath.Join(b.left, "started")); return err == nil })
		stop()
	}()
	err := b.use(ctx, clustertool.Kubectl, "delete pod canary")
	if !fault.Is(err, fault.Interrupted) {
		t.Errorf("got %v", err)
	}
	must.Fail(t, err, "kubectl delete was stopped before it ended")
	must.Hint(t, err, "dagger call cluster kubectl --env=test --args='delete,…'")
	if b.read(t, "asked") != "asked\n" {
		t.Error("it was not asked")
	}
	if keys := b.desk.Journals(); len(keys) > 0 || b.desk.LockID() != "" {
		t.Errorf("its lock %q and its journal %q are left", b.desk.LockID(), keys)
	}
}

// What changes something holds the lock of the nodes, and is in the journal by its name alone. What reads does not.
func TestToolHolds(t *testing.T) {
	b := newBench(t, `touch $LEFT/$1; while [ ! -e $LEFT/go ]; do sleep 0.02; done`)
	for _, c := range []struct {
		args  string
		holds bool
	}{{"delete secret canary --now", true}, {"get secrets", false}} {
		ended := make(chan error)
		go func() { ended <- b.use(t.Context(), clustertool.Kubectl, c.args) }()
		verb := strings.Fields(c.args)[0]
		soon.Wait(t, "the tool works", func() bool { _, err := os.Stat(filepath.Join(b.left, verb)); return err == nil })
		runs, err := journal.Runs(t.Context(), b.Store, b.Identity, b.desk.Key)
		must.Do(t, err)
		if (b.desk.LockID() != "") != c.holds || (len(runs) == 1) != c.holds {
			t.Errorf("%s: lock %q, journals %+v", c.args, b.desk.LockID(), runs)
		}
		if c.holds {
			last := runs[0].Entries[len(runs[0].Entries)-1]
			if last.Kind != journal.Start || last.Action != "kubectl delete" || last.Address != "" || runs[0].Stage != "cluster-kubectl" {
				t.Errorf("the journal has %+v", runs[0])
			}
		}
		must.Do(t, os.WriteFile(filepath.Join(b.left, "go"), nil, 0o600))
		must.Do(t, <-ended)
		must.Do(t, os.Remove(filepath.Join(b.left, "go")))
		if keys := b.desk.Journals(); len(keys) > 0 || b.desk.LockID() != "" {
			t.Errorf("%s: its lock %q and its journal %q are left", c.args, b.desk.LockID(), keys)
		}
	}
}

// A change waits for others on the nodes and on the layers. Reading does not.
func TestToolBesideOthers(t *testing.T) {
	b := newBench(t, `touch $LEFT/ran`)
	other := b.desk.Other(journal.Header{ID: "you", Stage: "apply"})
	err := b.use(t.Context(), clustertool.Kubectl, "delete pod canary")
	must.Refuse(t, err, "run you (apply, started ", " && dagger call cluster kubectl --env=test --args='delete,…'   # if it was killed")
	must.Do(t, b.use(t.Context(), clustertool.Kubectl, "get pods"))
	must.Do(t, os.Remove(filepath.Join(b.left, "ran")))
	must.Do(t, other.Finish(t.Context()))
	b.desk.Key = testkit.Key
	other = b.desk.Other(journal.Header{ID: "you", Stage: "destroy"})
	err = b.use(t.Context(), clustertool.Kubectl, "delete pod canary")
	must.Refuse(t, err, "the state of test is in use by run you (destroy, started ", "dagger call unlock --env=test")
	must.Do(t, other.Abandon(t.Context()))
	err = b.use(t.Context(), clustertool.Kubectl, "delete pod canary")
	must.Refuse(t, err, "run you (destroy, started ", "dagger call recover --env=test")
	b.Store = nil
	err = b.use(t.Context(), clustertool.Helm, "uninstall canary")
	must.Refuse(t, err, "the state of test is not in a bucket", "$EDITOR environments/test/environment.yaml")
	if _, err := os.Stat(filepath.Join(b.left, "ran")); err == nil {
		t.Error("it ran")
	}
}

// A tool that was interrupted is named by the next one, once. What an apply left stays for the next apply, which does
// not take the work of a tool for its own.
func TestToolAfterInterrupted(t *testing.T) {
	b := newBench(t, "true")
	killed := b.desk.Other(journal.Header{ID: "tool", Stage: "cluster-helm", Who: "age1alice", Lock: "of tool"})
	must.Do(t, killed.Keep(t.Context(), journal.Entry{Kind: journal.Start, Action: "helm upgrade"}))
	must.Do(t, killed.Abandon(t.Context()))
	b.desk.LockAs("of tool")
	b.desk.Interrupted(journal.Header{ID: "early", Stage: "cluster-talosctl"})
	b.desk.Interrupted(journal.Header{ID: "apply", Stage: "apply"})
	must.Do(t, b.use(t.Context(), clustertool.Kubectl, "delete pod x"))
	said := b.stderr.String()
	for _, want := range []string{
		"note: run tool (cluster-helm, started ", " by age1alice was interrupted while helm upgrade ran: it may have done a part of its work\n",
		"note: run early (cluster-talosctl, started ", " was interrupted before it began\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	runs, err := journal.Runs(t.Context(), b.Store, b.Identity, b.desk.Key)
	must.Do(t, err)
	if len(runs) != 1 || runs[0].ID != "apply" || b.desk.LockID() != "" {
		t.Errorf("left are %+v, and the lock %q", runs, b.desk.LockID())
	}
	b.stderr.Reset()
	must.Do(t, b.use(t.Context(), clustertool.Kubectl, "delete pod x"))
	if said := b.stderr.String(); said != "" {
		t.Errorf("it says %q", said)
	}
}

// The commands that run a tool are known as such where their journals are read.
func TestToolCommands(t *testing.T) {
	for _, f := range []func() run.Command{Kubectl, Talosctl, Helm} {
		if c := f(); !hold.OfTool(journal.Run{Header: journal.Header{Stage: c.Name}}) || c.Arguments == "" {
			t.Errorf("%s is not the command of a tool", c.Name)
		}
	}
	if hold.OfTool(journal.Run{Header: journal.Header{Stage: "cluster-bootstrap"}}) {
		t.Error("a bootstrap is one")
	}
}

// Behind a bastion a tool is given a proxy, whose password is masked. A host key that is another one is named.
func TestToolBehindBastion(t *testing.T) {
	b := newBench(t, `echo "$HTTPS_PROXY" >$LEFT/proxy; cat "$KUBECONFIG" >$LEFT/login; echo "$HTTPS_PROXY"; exit 1`)
	gate := bastion.New(t)
	b.Environment.SSH = &environment.SSH{Jump: "gate"}
	b.Credentials = map[string]string{"SSH_PRIVATE_KEY": gate.PEM}
	must.Do(t, b.Add(b.desk.Layer, gate.Outputs(t)))
	must.Do(t, b.Complete())
	must.Fail(t, b.use(t.Context(), clustertool.Kubectl, "get pods"), "kubectl get ended with exit code 1")
	url := strings.TrimSpace(b.read(t, "proxy"))
	if !strings.HasPrefix(url, "http://slipway:") || !strings.Contains(b.read(t, "login"), "proxy-url: "+url+"\n") {
		t.Errorf("the proxy is %s, and the login is\n%s", url, b.read(t, "login"))
	}
	_, password, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	password, _, _ = strings.Cut(password, "@")
	if got := b.stdout.String(); len(password) < 20 || strings.Contains(got, password) || !strings.HasPrefix(got, "http://slipway:***@127.0.0.1:") {
		t.Errorf("it shows %s", got)
	}
}

// What is wrong with a call is said before anything is opened, and nodes that are not there before anything runs.
func TestToolRefuses(t *testing.T) {
	v := withCluster(t)
	v.Args = []string{"bootstrap"}
	must.Refuse(t, runTool(t.Context(), v.Run, clustertool.Talosctl, byTalosconfig), "talosctl bootstrap is refused", "dagger call cluster bootstrap --env=test")
	v.Args = []string{"-n", "b", "reboot"}
	must.Refuse(t, runTool(t.Context(), v.Run, clustertool.Talosctl, byTalosconfig), "there is no file "+cluster.SecretsFile("test"), "dagger call -y cluster secrets --env=test")
	must.Do(t, makeSecrets(v.Run, "/nonexistent"))
	commit(v)
	must.Do(t, v.OpenCredentials())
	must.Refuse(t, runTool(t.Context(), v.Run, clustertool.Talosctl, byTalosconfig), `cluster home has no node "b"`, "the nodes of test are a (10.0.0.11), w (10.0.0.21)")
}
