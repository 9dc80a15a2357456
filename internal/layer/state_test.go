package layer_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// An output that is not sensitive is shown alike whether or not its value is already
// known to be marked elsewhere. A credential is masked in both.
func TestOpenOutputs(t *testing.T) {
	outputs := tofu.Outputs{
		"open":       {Value: json.RawMessage(`"born-in-the-state-1"`)},
		"encoded":    {Value: json.RawMessage(testkit.Quoted(base64.StdEncoding.EncodeToString([]byte("born-in-the-state-2"))))},
		"connection": {Value: json.RawMessage(`"postgres://me:born-in-the-state-3@db.example.org/app"`)},
		"credential": {Value: json.RawMessage(`"a-credential-of-prod"`)},
		"hosts":      {Value: json.RawMessage(`{"local-backend":{"host":"db-1.example.org"}}`)},
		"sensitive":  {Sensitive: true, Value: json.RawMessage(`"born-in-the-state-4"`)},
	}
	var reports []string
	for _, marked := range [][]string{nil, {
		"born-in-the-state-1", "born-in-the-state-2", "born-in-the-state-3", "born-in-the-state-4", "a-credential-of-prod",
		`{"user":"backend","host":"db-1.example.org","password":"something-else"}`,
		"postgres://backend:something-else@db-1.example.org:5432/app",
	}} {
		r, stdout, _ := testkit.Quiet(t, run.Command{Name: "apply"})
		r.Mask.Add("a-credential-of-prod")
		r.Mask.AddMarked(marked...)
		l := &layer.Layer{Run: r, Name: "prod"}
		l.ShowOutputs(outputs)
		r.End(nil)
		reports = append(reports, stdout.String())
	}
	if reports[0] != reports[1] {
		t.Errorf("first\n%s\nthen\n%s", reports[0], reports[1])
	}
	for _, want := range []string{"open = born-in-the-state-1", "born-in-the-state-3@db", "local-backend", "db-1.example.org", "credential = ***", "sensitive = (sensitive)"} {
		if !strings.Contains(reports[1], want) {
			t.Errorf("it does not say %q: %s", want, reports[1])
		}
	}
	// What no output shows stays hidden.
	r, stdout, _ := testkit.Quiet(t, run.Command{Name: "apply"})
	r.Mask.AddMarked("born-in-the-state-1", "born-in-the-state-4")
	(&layer.Layer{Run: r, Name: "prod"}).ShowOutputs(outputs)
	r.Report.WriteString("a line: born-in-the-state-4 born-in-the-state-1\n")
	r.End(nil)
	if got := stdout.String(); !strings.Contains(got, "a line: *** born-in-the-state-1\n") {
		t.Errorf("got %s", got)
	}
}

// The mask knows the sensitive outputs.
func TestReadOutputs(t *testing.T) {
	r, _, _ := testkit.Quiet(t, run.Command{Name: "output"})
	l := &layer.Layer{Run: r, Name: "test"}
	outputs, err := l.ReadOutputs([]byte(`{"address": {"sensitive": false, "value": "open-canary-1"}, "password": {"sensitive": true, "value": "hidden-canary-2"}}`))
	if err != nil || len(outputs) != 2 || !outputs["password"].Sensitive || string(outputs["address"].Value) != `"open-canary-1"` {
		t.Errorf("%+v, %v", outputs, err)
	}
	if got := r.Mask.String("open-canary-1 hidden-canary-2"); got != "open-canary-1 ***" {
		t.Errorf("it is shown as %q", got)
	}
	if _, err := l.ReadOutputs([]byte("canary")); err == nil || err.Error() != "the outputs of test are not JSON of a supported version" {
		t.Errorf("of no JSON: %v", err)
	}
}

// Recorded is what is managed, in all modules; what is only read is not.
func TestReadRecorded(t *testing.T) {
	recorded, err := layer.ReadRecorded([]byte(`{"format_version": "1.0", "values": {"root_module": {
		"resources": [{"address": "a.b", "mode": "managed", "type": "a", "values": {"id": "1"}}, {"address": "data.c.d", "mode": "data", "type": "c"}],
		"child_modules": [{"child_modules": [{"resources": [{"address": "module.m.module.n.e.f", "mode": "managed", "type": "e"}]}]}]}}}`))
	must.Do(t, err)
	if len(recorded) != 2 || layer.Attribute(recorded["a.b"], "id") != "1" || recorded["module.m.module.n.e.f"] == nil {
		t.Errorf("%+v", recorded)
	}
	if recorded, err := layer.ReadRecorded([]byte(`{"format_version": "1.0"}`)); err != nil || recorded == nil || len(recorded) > 0 {
		t.Errorf("of no state: %+v, %v", recorded, err)
	}
	if recorded, err := layer.ReadRecorded([]byte("Error")); err == nil {
		t.Errorf("of no JSON: %+v", recorded)
	}
}
