package ansible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The events that matter here, by the names of Ansible's callbacks.
const (
	PlayStart    = "v2_playbook_on_play_start"
	TaskStart    = "v2_playbook_on_task_start"
	HandlerStart = "v2_playbook_on_handler_task_start"
	HostStart    = "v2_runner_on_start" // instead of TaskStart, with a strategy that does not wait for all hosts
	OK           = "v2_runner_on_ok"
	Failed       = "v2_runner_on_failed"
	Unreachable  = "v2_runner_on_unreachable"
	Recap        = "v2_playbook_on_stats"
)

// Malformed is our own kind: an event of an unknown form.
const Malformed = "malformed"

// An Event is one line of the callback ansible.posix.jsonl.
type Event struct {
	Kind  string             `json:"_event"`
	Play  Named              `json:"play"`
	Task  Named              `json:"task"`
	Hosts map[string]Outcome `json:"hosts"`
	Stats map[string]Stats   `json:"stats"`
}

// Named is a play or a task.
type Named struct {
	Name string `json:"name"`
	Path string `json:"path"` // file:line
}

// Stats count a host's results.
type Stats struct {
	OK          int `json:"ok"`
	Changed     int `json:"changed"`
	Failed      int `json:"failures"`
	Unreachable int `json:"unreachable"`
	Skipped     int `json:"skipped"`
	Rescued     int `json:"rescued"`
	Ignored     int `json:"ignored"`
}

// An Outcome is the result of a task on one host, or of one item of a loop.
type Outcome struct {
	Changed  bool
	Failed   bool
	Censored string // set instead of everything else by no_log
	Message  string
	Code     string
	Stderr   string
	Stdout   string
	Module   string // what the module wrote to stderr
	Item     string // of a loop
	Diff     json.RawMessage
	Results  []Outcome // of a loop
}

// UnmarshalJSON reads each field by itself: the results of a module have any form, such as a list of
// texts as results, and must not hide whether it changed something.
func (o *Outcome) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	text := func(name string) string { return plain(fields[name]) }
	truth := func(name string) bool { // as Python has it
		return !slices.Contains([]string{"", "false", "0", "[]", "{}"}, text(name))
	}
	*o = Outcome{
		Changed: truth("changed"), Failed: truth("failed"), Censored: text("censored"), Message: text("msg"), Code: text("rc"),
		Stderr: text("stderr"), Stdout: text("stdout"), Module: text("module_stderr"), Item: text("_ansible_item_label"), Diff: fields["diff"],
	}
	if o.Item == "" {
		o.Item = text("item")
	}
	var results []json.RawMessage
	_ = json.Unmarshal(fields["results"], &results)
	for _, result := range results {
		var one Outcome
		if json.Unmarshal(result, &one) == nil {
			o.Results = append(o.Results, one)
		}
	}
	return nil
}

// ReadEvent reads a line. Lines that are not events come from -v and from programs that Ansible
// starts. An event that cannot be read is one all the same: it may be a change.
func ReadEvent(line []byte) (Event, bool) {
	var some struct {
		Kind any `json:"_event"`
	}
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &some) != nil || some.Kind == nil {
		return Event{}, false
	}
	var e Event
	if json.Unmarshal(line, &e) != nil {
		return Event{Kind: Malformed}, true
	}
	return e, true
}

// Reason says why the task failed: the message, and what the program printed.
func (o Outcome) Reason() string {
	if o.Censored != "" {
		return "its result is hidden by no_log"
	}
	var parts []string
	for _, r := range o.Results {
		if r.Failed {
			parts = append(parts, strings.TrimSpace(r.Label()+" "+r.Reason()))
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n")
	}
	message := o.Message
	if said := strings.TrimSpace(o.Stderr); message == "non-zero return code" && said != "" {
		message = fmt.Sprintf("it ended with code %s: %s", o.Code, said)
	}
	for _, text := range []string{message, o.Stderr, o.Module, o.Stdout} {
		if text = strings.TrimSpace(text); !strings.Contains(strings.Join(parts, "\n"), text) {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "without a message"
	}
	return strings.Join(parts, "\n")
}

// Label returns the item of a loop, as (item=NAME); empty if it is none.
func (o Outcome) Label() string {
	if o.Item == "" {
		return ""
	}
	return "(item=" + o.Item + ")"
}

// plain returns a string as it is, null as an empty one, and anything else as JSON.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
