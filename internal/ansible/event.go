package ansible

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	Changed   bool            `json:"changed"`
	Failed    bool            `json:"failed"`
	Censored  string          `json:"censored"` // set instead of everything else by no_log
	Message   json.RawMessage `json:"msg"`
	Code      int             `json:"rc"`
	Stderr    string          `json:"stderr"`
	Stdout    string          `json:"stdout"`
	Module    string          `json:"module_stderr"`
	Action    string          `json:"action"`
	Item      json.RawMessage `json:"_ansible_item_label"`
	PlainItem json.RawMessage `json:"item"`
	Diff      json.RawMessage `json:"diff"`
	Results   []Outcome       `json:"results"` // of a loop
}

// ReadEvent reads a line. Lines that are not events come from -v and from programs that Ansible
// starts.
func ReadEvent(line []byte) (Event, bool) {
	var e Event
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil {
		return Event{}, false
	}
	return e, e.Kind != ""
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
	message := plain(o.Message)
	if said := strings.TrimSpace(o.Stderr); message == "non-zero return code" && said != "" {
		message = fmt.Sprintf("it ended with code %d: %s", o.Code, said)
	}
	for _, text := range []string{message, o.Stderr, o.Module, o.Stdout} {
		if text = strings.TrimSpace(text); text != "" && !strings.Contains(strings.Join(parts, "\n"), text) {
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
	for _, item := range []json.RawMessage{o.Item, o.PlainItem} {
		if text := plain(item); text != "" {
			return "(item=" + text + ")"
		}
	}
	return ""
}

// plain returns a string as it is, and anything else as JSON.
func plain(value json.RawMessage) string {
	var text string
	if len(value) == 0 || string(value) == "null" || json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
