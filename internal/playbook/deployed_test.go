package playbook

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/report"
	"slipway/internal/testkit"
)

// A plan names the files of the playbook that differ from those of the last deploy: by content, by
// permission to run, by the target of a link. What no deploy reads is not among them.
func TestSince(t *testing.T) {
	s, d := onDesk(t)
	d.Repository = t.TempDir()
	d.Environment = &environment.Environment{Name: "test", Deploy: &environment.Deploy{Playbook: "site.yml"}}
	write := func(name, text string) {
		path := filepath.Join(d.Repository, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	since := func() *report.Deployment {
		t.Helper()
		got, err := Since(t.Context(), d.Run)
		must.Do(t, err)
		return got
	}
	write("ansible/playbooks/site.yml", "[]")
	write("ansible/roles/a/tasks/main.yml", "[]")
	write("ansible/files/run", "#!/bin/sh")
	write("ansible/files/old", "")
	write("main.tf", "")
	must.Do(t, os.Symlink("run", filepath.Join(d.Repository, "ansible/files/link")))
	if got := since(); got == nil || got.Run != "" {
		t.Errorf("before the first deploy: %+v", got)
	}

	s.remember(t.Context(), "3f2a91c")
	got := since()
	if got.Run != d.ID || got.Commit != "3f2a91c" || got.Ended.IsZero() || len(got.Changed) != 0 {
		t.Errorf("after a deploy: %+v", got)
	}

	write("ansible/playbooks/site.yml", "[{}]")
	write("ansible/roles/a/tasks/new.yml", "")
	write("ansible/.git/HEAD", "")
	write("main.tf", "# other")
	must.Do(t, os.Chmod(filepath.Join(d.Repository, "ansible/files/run"), 0o755))
	must.Do(t, os.Remove(filepath.Join(d.Repository, "ansible/files/old")))
	must.Do(t, os.Remove(filepath.Join(d.Repository, "ansible/files/link")))
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(d.Repository, "ansible/files/link")))
	want := []report.File{{Sign: "~", Path: "ansible/files/link"}, {Sign: "-", Path: "ansible/files/old"}, {Sign: "~", Path: "ansible/files/run"}, {Sign: "~", Path: "ansible/playbooks/site.yml"}, {Sign: "+", Path: "ansible/roles/a/tasks/new.yml"}}
	if diff := cmp.Diff(want, since().Changed); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}

	must.Do(t, os.RemoveAll(filepath.Join(d.Repository, "ansible")))
	if got := since(); len(got.Changed) != 5 || got.Changed[0].Sign != "-" {
		t.Errorf("without the folder: %+v", got)
	}
	for range 2 {
		must.Do(t, Forget(t.Context(), d.Run))
		if got := since(); got.Run != "" {
			t.Errorf("of hosts that are gone: %+v", got)
		}
	}
}

// An unreadable record is unknown, and not a playbook that nobody deployed.
func TestSinceUnknown(t *testing.T) {
	s, d := onDesk(t)
	d.Repository = t.TempDir()
	d.Environment = &environment.Environment{Name: "test", Deploy: &environment.Deploy{Playbook: "site.yml"}}
	for _, record := range []string{"no JSON", `{"version":2,"run":"x"}`, `{"version":1,"files":[]}`} {
		must.Do(t, d.Store.Write(t.Context(), "test/deployed.json", []byte(record)))
		if got, err := Since(t.Context(), d.Run); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", record, got, err)
		}
	}
	if !strings.Contains(said(d), "note: it is unknown how the playbook differs from the deployed one: test/deployed.json") {
		t.Errorf("it says %q", said(d))
	}
	must.Do(t, d.Store.Write(t.Context(), "test/deployed.json", []byte(`{"version":1}`)))
	d.Environment.Deploy = nil
	must.Do(t, Forget(t.Context(), d.Run))
	if got, err := Since(t.Context(), d.Run); got != nil || err != nil {
		t.Errorf("without a playbook: %+v, %v", got, err)
	}
	_, err := d.Store.Read(t.Context(), "test/deployed.json")
	must.Do(t, err)
	d.Environment.Deploy = &environment.Deploy{Playbook: "site.yml"}
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if got, err := Since(t.Context(), d.Run); err == nil {
		t.Errorf("a store that refuses: %+v", got)
	}
	s.remember(t.Context(), "")
	if !strings.Contains(said(d), "note: this deploy could not be recorded") {
		t.Errorf("it says %q", said(d))
	}
	d.Store = nil
	if got, err := Since(t.Context(), d.Run); got != nil || err != nil {
		t.Errorf("without a store: %+v, %v", got, err)
	}
	must.Do(t, Forget(t.Context(), d.Run))
}

func said(d *testkit.Desk) string { return d.Stderr.(*bytes.Buffer).String() }
