//go:build blackbox

package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"slipway/internal/testkit/soon"
	"slipway/internal/tofu"
)

// forTools is a folder that tofu can work in, which runs as another user.
func forTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBlackBoxLock runs two applies of the real OpenTofu on one sealed state in
// one store: while the first works, its lock can be read and the second is
// refused; afterwards there is no lock, and the state in the store is sealed.
func TestBlackBoxLock(t *testing.T) {
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	defer server.Close()
	bucket := S3{Bucket: "state", Endpoint: server.URL, Region: "test", AccessKey: "key", SecretKey: "secret"}
	store := Open(bucket)
	if _, err := store.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	const key = "test/test.tfstate"
	gate := filepath.Join(forTools(t), "gate")
	root := fmt.Sprintf(`terraform {
  backend "s3" {}
}

resource "terraform_data" "slow" {
  input = "canary-value-in-the-state"
  provisioner "local-exec" {
    command = "until [ -e %s ]; do sleep 0.02; done"
  }
}
`, gate)
	environment := append(bucket.Environment(), "PATH="+os.Getenv("PATH"), "TF_ENCRYPTION="+encryption(t, good, ""))
	runner := func() tofu.Runner {
		dir := forTools(t)
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(root), 0o644); err != nil {
			t.Fatal(err)
		}
		r := tofu.Runner{Dir: dir, Env: append(environment, "HOME="+dir), Stderr: io.Discard}
		if out, code, err := r.Output(t.Context(), tofu.Init{Backend: bucket.Backend(key)}.Args()...); err != nil || code != tofu.ExitOK {
			t.Fatalf("init: exit code %d, %v\n%s", code, err, out)
		}
		return r
	}
	plan := func(r tofu.Runner) int {
		code, err := r.Run(t.Context(), io.Discard, tofu.Plan{Out: "plan"}.Args()...)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	first, second := runner(), runner()
	for _, r := range []tofu.Runner{first, second} {
		if code := plan(r); code != tofu.ExitChanges {
			t.Fatalf("plan: exit code %d", code)
		}
	}
	begin, applied := time.Now(), make(chan int, 1)
	go func() {
		code, err := first.Run(t.Context(), io.Discard, tofu.Apply{Plan: "plan"}.Args()...)
		if err != nil {
			t.Error(err)
		}
		applied <- code
	}()
	var lock *Lock
	soon.Wait(t, "the first has its lock", func() bool {
		var err error
		if lock, err = store.ReadLock(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		return lock != nil
	})
	if lock.Operation != "OperationTypeApply" || lock.Who == "" || lock.Created.Before(begin) || lock.Created.After(time.Now()) {
		t.Fatalf("the lock while an apply works: %+v", lock)
	}
	var messages []string
	code, err := second.Events(t.Context(), func(e tofu.Event) { messages = append(messages, e.Diagnostic.Detail) }, func([]byte) {}, tofu.Apply{Plan: "plan"}.Args()...)
	if err != nil || code != tofu.ExitError || !strings.Contains(strings.Join(messages, "\n"), lock.ID) {
		t.Errorf("the second: exit code %d, %v; it does not name the lock %s:\n%s", code, err, lock.ID, messages)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := <-applied; code != tofu.ExitOK {
		t.Fatalf("apply: exit code %d", code)
	}
	if lock, err := store.ReadLock(t.Context(), key); lock != nil || err != nil {
		t.Errorf("after the apply: %+v, %v", lock, err)
	}
	if code := plan(second); code != tofu.ExitOK {
		t.Errorf("the second, afterwards: exit code %d", code)
	}
	state, err := store.read(t.Context(), key)
	if err != nil || strings.Contains(string(state), "canary") || !strings.Contains(string(state), "encrypted_data") {
		t.Errorf("the state is not sealed: %v, %.200s", err, state)
	}
}

// TestBlackBoxInterrupt: when interrupted, tofu releases its lock and keeps what it has created.
func TestBlackBoxInterrupt(t *testing.T) {
	dir := forTools(t)
	const root = `resource "terraform_data" "quick" {}

resource "terraform_data" "slow" {
  depends_on = [terraform_data.quick]
  provisioner "local-exec" {
    command = "sleep 60"
  }
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(root), 0o644); err != nil {
		t.Fatal(err)
	}
	r := tofu.Runner{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_ENCRYPTION=" + encryption(t, good, "")}, Stderr: io.Discard}
	for _, args := range [][]string{tofu.Init{}.Args(), tofu.Plan{Out: "plan"}.Args()} {
		if code, err := r.Run(t.Context(), io.Discard, args...); err != nil || code == tofu.ExitError {
			t.Fatalf("%s: exit code %d, %v", args[0], code, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	code, err := r.Events(ctx, func(e tofu.Event) {
		if e.Type == tofu.ApplyStart && e.Hook.Resource.Address == "terraform_data.slow" {
			stop()
		}
	}, func([]byte) {}, tofu.Apply{Plan: "plan"}.Args()...)
	if err != nil || code != tofu.ExitError {
		t.Fatalf("exit code %d, %v", code, err)
	}
	out, code, err := r.Output(t.Context(), tofu.StateListArgs()...)
	if err != nil || code != tofu.ExitOK || !strings.Contains(string(out), "terraform_data.quick") {
		t.Errorf("the state after it: exit code %d, %v\n%s", code, err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*.lock.info")); len(left) > 0 {
		t.Errorf("a lock is left: %v", left)
	}
}
