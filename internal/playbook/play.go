package playbook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"slipway/internal/ansible"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/printable"
	"slipway/internal/remote"
	"slipway/internal/run"
)

// Options are what the caller of a deploy can choose.
type Options struct {
	Check  bool   // change nothing, and show what would change
	Limit  string // hosts and groups, as Ansible's patterns; empty: all
	Tags   string // comma-separated; empty: all
	Commit string // of the files, for the journal
	Log    string // LogTasks, LogPlays or LogDebug
}

// What a run shows while it works.
const (
	LogTasks = "tasks" // a line per task
	LogPlays = "plays" // a line per play
	LogDebug = "debug" // everything that Ansible prints with -vvv
)

// play runs the playbook on the hosts. Without Check it holds the environment's deploy lock, and
// records in the journal what it does.
func (s *Site) play(ctx context.Context, o Options) (*ansible.Record, error) {
	digest, err := s.write()
	if err != nil {
		return nil, err
	}
	stop, err := s.serveKey()
	if err != nil {
		return nil, err
	}
	defer stop()
	defer s.disconnect(ctx)
	if s.Store == nil {
		s.Say("note: the state of %s is not in a bucket, so nothing keeps two deploys apart", s.Env)
	}
	if o.Check || s.Store == nil {
		return s.start(ctx, o, nil)
	}
	hosts := hold.Hosts(s.Run)
	hosts.Commit, hosts.Inputs = o.Commit, digest
	var record *ansible.Record
	err = hold.Resume(ctx, hosts, func(working context.Context, h *hold.Hold, others hold.Others) (clean bool, err error) {
		for _, dead := range others.Dead {
			s.Report.WriteString(describeDead(dead))
		}
		record, err = s.start(working, o, h.Journal)
		return s.settle(ctx, record, o, others.Dead, errors.Join(hold.Stopped(working), err))
	})
	return record, err
}

// start runs ansible-playbook. record, if it is not nil, gets an entry for each task.
func (s *Site) start(ctx context.Context, o Options, record *journal.Writer) (*ansible.Record, error) {
	p := ansible.Playbook{
		File: "playbooks/" + s.Environment.Deploy.Playbook, Inventory: s.Path(inventoryFile), Variables: []string{s.Path(variablesFile)},
		Check: o.Check, Limit: o.Limit, Tags: o.Tags, Forks: cmp.Or(s.Environment.Deploy.Forks, defaultForks), Verbose: o.Log == LogDebug,
	}
	printed := &output{each: s.printer(o.Log)}
	done := &ansible.Record{}
	var code int
	err := s.Timed("playbook", func() (err error) {
		code, err = s.runner(printed).Play(ctx, p, func(e ansible.Event) {
			done.Add(e)
			s.progress(e, done, o.Log)
			s.record(record, e, done)
		}, printed.line)
		return err
	})
	return done, s.judge(ctx, done, code, err, printed)
}

const defaultForks = 5

// record adds a task that begins to the journal, if there is one.
func (s *Site) record(to *journal.Writer, e ansible.Event, done *ansible.Record) {
	if to == nil {
		return
	}
	switch e.Kind {
	case ansible.TaskStart, ansible.HandlerStart, ansible.HostStart:
		to.Add(journal.Entry{Kind: journal.Start, Time: time.Now().UTC(), Address: s.Mask.String(done.Play + " / " + done.Task)})
	}
}

// printer returns what is done with a line that is not an event.
func (s *Site) printer(log string) func(string) {
	return func(line string) {
		if log == LogDebug || strings.HasPrefix(line, "[WARNING]") {
			s.Say("%s", line)
		}
	}
}

// progress shows an event as it happens.
func (s *Site) progress(e ansible.Event, r *ansible.Record, log string) {
	switch e.Kind {
	case ansible.PlayStart:
		s.Say("play %s …", printable.Terminal(e.Play.Name))
	case ansible.TaskStart, ansible.HandlerStart, ansible.HostStart:
		if log != LogPlays {
			s.Say("  %s", printable.Terminal(e.Task.Name))
		}
	case ansible.OK:
		for host, outcome := range e.Hosts {
			if outcome.Changed && log != LogPlays {
				s.Say("  %s: changed", host)
			}
		}
	case ansible.Failed, ansible.Unreachable:
		for host := range e.Hosts {
			f := r.Failures[len(r.Failures)-1]
			s.Say("  %s: %s: %s", host, run.Word(verdict(f)), s.brief(f))
		}
	}
}

func verdict(f ansible.Failure) string {
	if f.Unreachable {
		return "unreachable"
	}
	return "failed"
}

// brief says in one line why a task failed. What Slipway found out itself when it logged in to the
// host is more precise than what ssh says.
func (s *Site) brief(f ansible.Failure) string {
	if reason := s.unreached[f.Host]; f.Unreachable && reason != nil {
		return reason.Error()
	}
	switch {
	case strings.Contains(f.Reason, "Host key verification failed"):
		return remote.ErrOtherKey.Error()
	case strings.Contains(f.Reason, "Permission denied (publickey"):
		return remote.ErrRefused.Error()
	}
	return printable.Shorten(s.Mask.String(printable.Terminal(sentence(f.Reason))), 500)
}

// sentence returns the first line, and the second one if the first only announces it.
func sentence(text string) string {
	line, rest, _ := strings.Cut(text, "\n")
	if strings.HasSuffix(line, ":") {
		next, _, _ := strings.Cut(rest, "\n")
		line += " " + strings.TrimSpace(next)
	}
	return line
}

// judge returns the error of a run of ansible-playbook.
func (s *Site) judge(ctx context.Context, done *ansible.Record, code int, err error, printed *output) error {
	fatal := done.Fatal()
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil || code == ansible.ExitInterrupted:
		return fault.New(fault.Interrupted, "dagger call deploy --env="+s.Env, "the deploy was interrupted%s", where(done))
	case !done.Began && code != ansible.ExitOK:
		s.Complaints.WriteString(printable.Log(printed.String()) + "\n")
		return fault.Refuse("$EDITOR ansible/playbooks/"+s.Environment.Deploy.Playbook, "ansible cannot run the playbook %s: %s", s.Environment.Deploy.Playbook, complaint(printed.String()))
	case len(fatal) == 0 && code != ansible.ExitOK:
		s.Complaints.WriteString(printable.Log(printed.String()) + "\n")
		return fmt.Errorf("ansible-playbook ended with code %d%s: %s", code, where(done), complaint(printed.String()))
	case len(fatal) == 0 && done.Malformed > 0:
		return fmt.Errorf("ansible-playbook reported %s in an unknown form, so what they changed is not known", count(done.Malformed, "result"))
	case len(fatal) == 0:
		return nil
	}
	return s.failed(done, fatal)
}

// complaint returns the first error in what Ansible printed.
func complaint(text string) string {
	for line := range strings.Lines(text) {
		for _, mark := range []string{"[ERROR]: ", "ERROR! "} {
			if message, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
				return printable.Terminal(message)
			}
		}
	}
	// A line of JSON is no sentence, and may have the content of a file.
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, line)
		}
	}
	return printable.Terminal(sentence(strings.Join(lines, "")))
}

// where says how far a run got.
func where(r *ansible.Record) string {
	if r.Task == "" {
		return " before its first task"
	}
	return fmt.Sprintf(" in the task %q of the play %q", r.Task, r.Play)
}

// failed returns the error for the hosts that did not get to the end.
func (s *Site) failed(done *ansible.Record, fatal []ansible.Failure) error {
	kind := fault.Unreachable
	hint := "dagger call ssh --env=" + s.Env + " --host=" + fatal[0].Host
	hosts := map[string]bool{}
	for _, f := range fatal {
		hosts[f.Host] = true
		if !f.Unreachable {
			kind = fault.Failed
			hint = "dagger call deploy --env=" + s.Env + " --limit=" + f.Host
		}
	}
	f := fatal[0]
	return fault.New(kind, hint, "%d of %s did not get to the end: %s is %s in the task %q (%s): %s",
		len(hosts), count(len(done.Hosts), "host"), f.Host, strings.Replace(verdict(f), "failed", "stopped", 1), f.Task, s.place(f.Path), s.brief(f))
}

// place returns a path in the repository.
func (s *Site) place(path string) string {
	return strings.TrimPrefix(path, s.Path("repository")+"/")
}

// describeDead says what an interrupted deploy did not finish.
func describeDead(dead journal.Run) string {
	last := "before its first task"
	for _, e := range dead.Entries {
		if e.Kind == journal.Start {
			last = "in the task " + e.Address
		}
	}
	return fmt.Sprintf("%s%s was interrupted %s: this deploy begins again with the first task\n", hold.DescribeRun(dead), hold.Origin(dead), last)
}

// settle decides what is left of a deploy. One that was interrupted leaves its journal for the next
// one. A complete one on all hosts makes up for those before it, and is recorded for the next plan.
func (s *Site) settle(ctx context.Context, done *ansible.Record, o Options, dead []journal.Run, err error) (clean bool, _ error) {
	e, known := fault.Of(err)
	judged := known && (e.Kind == fault.Failed || e.Kind == fault.Unreachable)
	if fault.Is(err, fault.Interrupted) || err != nil && !judged && done.Began {
		return false, err
	}
	if err == nil && o.Limit == "" && o.Tags == "" {
		ctx = context.WithoutCancel(ctx)
		s.remember(ctx, o.Commit)
		for _, run := range dead {
			err = errors.Join(err, journal.Remove(ctx, s.Store, run))
		}
	}
	return true, err
}
