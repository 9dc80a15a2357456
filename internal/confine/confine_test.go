package confine

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"slipway/internal/testkit/soon"
)

// root says whether a tool can be another user than the tests are.
var root = os.Getuid() == 0

// shell runs a script as a tool and returns what it printed.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := Command(t.Context(), "/bin/sh", "-c", script)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &out, &out, []string{"PATH=/usr/bin:/bin"}
	if err := Run(cmd); err != nil {
		t.Logf("%v", err)
	}
	return out.String()
}

// folder is one that the tools can reach: those of a test are the tester's own.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A tool is nobody, and reads nothing of ours. Where the tests are not root's,
// nothing can be switched, and it is the same user.
func TestCommand(t *testing.T) {
	dir := folder(t)
	secret := filepath.Join(dir, "secret")
	closed := filepath.Join(dir, "closed")
	if err := os.MkdirAll(filepath.Join(closed, "credentials"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, filepath.Join(closed, "credentials/one")} {
		if err := os.WriteFile(path, []byte("canary"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{secret, closed, filepath.Join(dir, "absent")} {
		if err := Close(path); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CANARY", "canary")
	said := shell(t, dir, `id -u; id -G; grep NoNewPrivs /proc/self/status; cat secret closed/credentials/one /proc/$PPID/environ; env`)
	want := []string{"65532\n65532\n"}
	if !root {
		want = []string{strconv.Itoa(os.Getuid()) + "\n"}
	} else if strings.Contains(said, "canary") {
		t.Errorf("a tool reads what is ours:\n%s", said)
	}
	for _, text := range append(want, "NoNewPrivs:\t1") {
		if !strings.Contains(said, text) {
			t.Errorf("a tool does not say %q:\n%s", text, said)
		}
	}
	mode := os.FileMode(0o644)
	if root {
		mode = 0o600
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Whoever a file is of, a tool can neither read it when it is closed, nor open it
// again. Without root there is no such tool, and the file stays as it is.
func TestClose(t *testing.T) {
	for name, owner := range map[string]int{"of the tools": user, "of ours": os.Getuid(), "of somebody else": 4711} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t), "secret")
			if err := os.WriteFile(path, []byte("canary"), 0o644); err != nil {
				t.Fatal(err)
			}
			after, mode := os.Getuid(), os.FileMode(0o644)
			if root {
				if err := os.Chown(path, owner, owner); err != nil {
					t.Fatal(err)
				}
				after, mode = owner, 0o600
				if owner == user {
					after = 0
				}
			}
			if err := Close(path); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != after || info.Mode().Perm() != mode {
				t.Errorf("it is %v, %v", info, err)
			}
			if said := shell(t, filepath.Dir(path), "chmod 0644 secret; cat secret"); root && strings.Contains(said, "canary") {
				t.Errorf("a tool reads %s", said)
			}
		})
	}
}

// TestWithoutRoot runs tests again, as a user who is not root.
func TestWithoutRoot(t *testing.T) {
	dir := folder(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	// The folder of the test program may be closed.
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(dir, "tests")
	if err := os.WriteFile(tests, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tests, "-test.run=^(TestCommand|TestClose|TestFolder|TestFolderLinks)$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	if root {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
	}
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\n--- PASS: ") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The thread that may gain no rights is not used again: what we do ourselves later is
// not confined.
func TestRunLeavesUs(t *testing.T) {
	confined := func() (n, of int) {
		tasks, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if data, err := os.ReadFile(task); err == nil && bytes.Contains(data, []byte("NoNewPrivs:\t1")) {
				n++
			}
		}
		return n, len(tasks)
	}
	if n, of := confined(); n == of {
		t.Skip("the tests themselves were started without the right to gain rights")
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := Run(Command(t.Context(), "/bin/sleep", "0.1")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	// The first thread of a process cannot end; Go lets it rest.
	soon.Wait(t, "no other thread is confined", func() bool {
		n, _ := confined()
		return n <= 1
	})
}

// What is passed on is what is set, and a program that is not there is an error.
func TestCommandStartsNothing(t *testing.T) {
	if err := Run(Command(t.Context(), filepath.Join(t.TempDir(), "none"))); err == nil {
		t.Error("it runs")
	}
	t.Setenv("CANARY", "canary")
	cmd := Command(t.Context(), "/usr/bin/env")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := Run(cmd); err != nil || out.Len() > 0 {
		t.Errorf("%v, %s", err, out.String())
	}
}

// A tool writes what it is given, and not beside it.
func TestFolder(t *testing.T) {
	f := Folder(folder(t))
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	if err := f.Make("plans", "home"); err != nil {
		t.Fatal(err)
	}
	if err := f.Write("plans/one", []byte("from us")); err != nil {
		t.Fatal(err)
	}
	said := shell(t, string(f), "cat plans/one; echo more >>plans/one; echo more >home/two; echo >beside; ls")
	if !strings.Contains(said, "from us") || root && strings.Count(said, "denied") != 2 {
		t.Errorf("it says %q", said)
	}
	if data, err := f.Read("home/two"); err != nil || string(data) != "more\n" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := f.Read("plans/one"); err != nil || string(data) != "from usmore\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// A link that a tool leaves in place of a file is not followed.
func TestFolderLinks(t *testing.T) {
	f := Folder(folder(t))
	if err := f.Make("tools/deep"); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	key := filepath.Join(outside, "key")
	if err := os.WriteFile(key, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(string(f), "tools")
	for name, target := range map[string]string{"absolute": key, "folder": outside, "beside": "file"} {
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(inside, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(inside, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"absolute", "folder/key", "beside", "pipe", "deep"} {
		// It does not wait for a pipe's other end.
		if data, err := f.Read("tools/" + name); err == nil {
			t.Errorf("%s: %s", name, data)
		}
	}
	if err := f.Write("tools/absolute", []byte("plan")); err != nil {
		t.Error(err)
	}
	if err := f.Write("tools/folder/key", []byte("plan")); err == nil {
		t.Error("a link of a folder is followed")
	}
	if data, err := os.ReadFile(key); err != nil || string(data) != "canary" {
		t.Errorf("%s, %v", data, err)
	}
	if data, err := f.Read("tools/absolute"); err != nil || string(data) != "plan" {
		t.Errorf("%s, %v", data, err)
	}
}

// Something that a tool puts in place of a file while it is being read is not mistaken for the
// file.
func TestFolderSwap(t *testing.T) {
	f := Folder(folder(t))
	if err := f.Make("tools"); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(string(f), "tools")
	for _, name := range []string{"own", "canary"} {
		if err := os.WriteFile(filepath.Join(inside, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(inside, "file")
	swap := func(put func(to string) error) {
		if err := errors.Join(put(file+".next"), os.Rename(file+".next", file)); err != nil {
			t.Error(err)
		}
	}
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			swap(func(to string) error { return os.Symlink("canary", to) })
			swap(func(to string) error { return os.Link(filepath.Join(inside, "own"), to) })
			_ = os.Remove(file + ".next") // a link to what is there already is not renamed
		}
	}()
	read := 0
	for until := time.Now().Add(500 * time.Millisecond); time.Now().Before(until); {
		data, err := f.Read("tools/file")
		if err == nil && string(data) != "own" {
			t.Errorf("it is %q", data)
			break
		}
		if err == nil {
			read++
		}
	}
	close(stop)
	<-stopped
	if read == 0 {
		t.Error("nothing was read")
	}
}

// TestSelf runs in another process, which is not to lose its variables.
func TestSelf(t *testing.T) {
	if os.Getenv("CONFINE_SELF") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSelf$", "-test.v")
		cmd.Env = append(os.Environ(), "CONFINE_SELF=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestSelf") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := Self(); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CONFINE_SELF") != "" || os.Getenv("PATH") == "" {
		t.Errorf("the variables are %q", os.Environ())
	}
	// The files of such a process are root's.
	info, err := os.Stat("/proc/self/environ")
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("%v, %v", info, err)
	}
	dumpable, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_GET_DUMPABLE, 0, 0)
	if errno != 0 || dumpable != 0 {
		t.Errorf("dumpable is %d, %v", dumpable, errno)
	}
}
