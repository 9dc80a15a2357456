package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"slipway/internal/drift"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// A check of an environment that cannot be opened has found nothing. Its result has the reason and
// the hint, for the issue.
func TestDriftUnopened(t *testing.T) {
	var stdout, stderr bytes.Buffer
	out := t.TempDir()
	repository := t.TempDir()
	folder := filepath.Join(repository, "environments/broken")
	must.Do(t, os.MkdirAll(folder, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(folder, "environment.yaml"), []byte("state: {}\n"), 0o600))
	code := run.Main(t.Context(), Drift(), run.Options{Env: "none", Repository: repository, Out: out, Stdout: &stdout, Stderr: &stderr})
	if check := readCheck(t, out); code != run.BadInput || check.Status != drift.Unchecked || check.Error != `there is no environment "none"` {
		t.Errorf("exit code %d: it leaves %+v", code, check)
	}
	stdout.Reset()
	code = run.Main(t.Context(), Drift(), run.Options{Env: "broken", Repository: repository, Out: out, Stdout: &stdout, Stderr: &stderr})
	if code != run.BadInput || stdout.String() != "broken: could not be checked for drift\n" {
		t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
	}
	check := readCheck(t, out)
	if check.Status != drift.Unchecked || check.Environment != "broken" || check.Error == "" || check.Hint == "" || check.Hits != 1 {
		t.Errorf("it leaves %+v", check)
	}
}

func readCheck(t *testing.T, out string) (check drift.Check) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, drift.FileName))
	must.Do(t, err)
	must.Do(t, json.Unmarshal(data, &check))
	return check
}

// Checks with the same result are counted beside the state. A failed one also has its reason.
func TestConcludeDrift(t *testing.T) {
	d := testkit.New(t)
	d.Environment.Drift = &environment.Drift{After: 3}
	for hits := 1; hits <= 2; hits++ {
		check := newCheck(d.Run)
		refused := fault.Refuse("the next command", "it is refused")
		if err := concludeDrift(t.Context(), d.Run, check, refused); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
		if got := readCheck(t, d.Out); got.Error != "it is refused" || got.Hint != "the next command" || got.After != 3 || got.Hits != hits {
			t.Errorf("it leaves %+v", got)
		}
	}
	check := newCheck(d.Run)
	check.Status = drift.Drifted
	must.Do(t, concludeDrift(t.Context(), d.Run, check, nil))
	if got := readCheck(t, d.Out); got.Hint != "" || got.Hits != 1 || !d.Changed {
		t.Errorf("it leaves %+v, changed: %v", got, d.Changed)
	}
}

// Where nothing can be counted, an issue opens at once. A count that cannot be read starts over.
func TestCountDrift(t *testing.T) {
	d := testkit.New(t)
	d.Environment.Drift = &environment.Drift{After: 3}
	const key = "drift/test.json"
	for name, c := range map[string]struct {
		before string
		want   int
	}{
		"none":               {want: 1},
		"one more":           {before: `{"version":1,"status":"drifted","hits":1}`, want: 2},
		"of another version": {before: `{"version":2,"status":"drifted","hits":1}`, want: 1},
		"damaged":            {before: `{"version":1,"status":"drifted","hits":1`, want: 1},
	} {
		if c.before != "" {
			must.Do(t, d.Store.Write(t.Context(), key, []byte(c.before)))
		}
		check := newCheck(d.Run)
		check.Status = drift.Drifted
		if must.Do(t, countDrift(t.Context(), d.Run, check)); check.Hits != c.want {
			t.Errorf("%s: %d hits, not %d", name, check.Hits, c.want)
		}
		must.Do(t, d.Store.Remove(t.Context(), key))
	}
	d.Store = nil
	check := newCheck(d.Run)
	if must.Do(t, countDrift(t.Context(), d.Run, check)); check.Hits != 3 {
		t.Errorf("without a store: %d hits", check.Hits)
	}
}
