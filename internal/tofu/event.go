package tofu

import (
	"encoding/json"
	"time"
)

// An Event is one line that `tofu -json` prints while it works. Fields of event types that are not
// listed here stay empty.
//
// https://opentofu.org/docs/internals/machine-readable-ui/
type Event struct {
	Type    string    `json:"type"`
	Level   string    `json:"@level"`
	Message string    `json:"@message"` // may contain values: never shown unmasked
	Time    time.Time `json:"@timestamp"`
	Hook    Hook      `json:"hook"`
	Change  struct {
		Resource Resource `json:"resource"`
		Action   string   `json:"action"`
	} `json:"change"` // a planned change, or one made outside of OpenTofu
	Changes    Changes    `json:"changes"`
	Diagnostic Diagnostic `json:"diagnostic"`
	Outputs    Outputs    `json:"outputs"`

	// State is the complete state, encrypted as TF_ENCRYPTION says, of an apply that could write it
	// neither to its store nor to a file.
	State   json.RawMessage `json:"state"`
	TestRun struct {
		Run    string `json:"run"`
		Status string `json:"status"` // pass, fail, error or skip
	} `json:"test_run"`
}

// Outputs are the outputs of a root module, by name.
type Outputs map[string]Output

// An Output is one output.
type Output struct {
	Sensitive bool            `json:"sensitive"`
	Value     json.RawMessage `json:"value"` // in an event: missing if sensitive
}

// The event types that matter here.
const (
	ApplyStart    = "apply_start"
	ApplyComplete = "apply_complete"
	ApplyErrored  = "apply_errored"
	OutputsMsg    = "outputs"
	ResourceDrift = "resource_drift"
	TestRun       = "test_run"
	DiagnosticMsg = "diagnostic"
)

// A Hook is an event about one resource.
type Hook struct {
	Resource Resource `json:"resource"`
	Action   string   `json:"action"` // create, update, delete, read …
	IDKey    string   `json:"id_key"`
	IDValue  string   `json:"id_value"`
}

// A Resource is the resource that an event is about.
type Resource struct {
	Address string `json:"addr"`
	Type    string `json:"resource_type"`
}

// Changes are the totals of a plan or an apply.
type Changes struct {
	Add       int    `json:"add"`
	Change    int    `json:"change"`
	Import    int    `json:"import"`
	Remove    int    `json:"remove"`
	Forget    int    `json:"forget"`
	Operation string `json:"operation"`
}

// A Diagnostic is an error or a warning.
type Diagnostic struct {
	Severity string `json:"severity"` // error or warning
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    *struct {
		File  string `json:"filename"`
		Start struct {
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
}

// PostconditionFailed is the summary of a failed postcondition.
const PostconditionFailed = "Resource postcondition failed"

// ReadEvent decodes one line. ok is false for a line that is not an event, such as what a provider
// writes to the terminal.
func ReadEvent(line []byte) (e Event, ok bool) {
	if json.Unmarshal(line, &e) != nil || e.Type == "" {
		return Event{}, false
	}
	return e, true
}
