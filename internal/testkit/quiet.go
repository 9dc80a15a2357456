package testkit

import (
	"bytes"
	"encoding/json"
	"testing"

	"slipway/internal/run"
)

// Quiet returns a run whose outputs are captured.
func Quiet(t *testing.T, c run.Command) (r *run.Run, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return run.New(c, run.Options{Env: "prod", Out: t.TempDir(), Stdout: stdout, Stderr: stderr}), stdout, stderr
}

func Quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
