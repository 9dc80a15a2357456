//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// noEngine hides the engine that the other tests use.
const noEngine = "_EXPERIMENTAL_DAGGER_RUNNER_HOST="

// A spare engine beside the one that the other tests use: its own checkout, whose pins it writes, run
// folder, port and store, and what was built shared by hard links.
type spareEngine struct {
	cache, run, checkout string
	env                  []string
}

func newSpareEngine(t *testing.T) spareEngine {
	t.Helper()
	needOwnEngine(t)
	built := filepath.Join(cacheDir(t), "products")
	// On the same file system, for the links.
	cache, err := os.MkdirTemp(filepath.Dir(cacheDir(t)), "slipway-e2e-") //nolint:forbidigo // on the file system of the cache, for the links
	if err != nil {
		t.Fatal(err)
	}
	runDir, err := os.MkdirTemp("/run", "slipway-e2e-") //nolint:forbidigo // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	e := spareEngine{cache: cache, run: runDir, checkout: t.TempDir(), env: []string{
		noEngine, "SLIPWAY_STORE_GB=20", // the default
		"SLIPWAY_CACHE_DIR=" + cache, "SLIPWAY_RUN_DIR=" + runDir, "SLIPWAY_REGISTRY_PORT=" + strconv.Itoa(freePort(t)),
	}}
	t.Cleanup(func() {
		e.engine(t, "down").must(t)
		for _, path := range []string{cache, cache + ".lock", runDir} {
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	})
	run(t, "cp", "-al", built, filepath.Join(cache, "products")).must(t)
	// All that the engine program reads.
	run(t, "cp", "-r", "--parents", "dagger.json", "ci/pins.env", "examples", e.checkout).must(t)
	return e
}

// engine runs the engine program on the spare engine.
func (e spareEngine) engine(t *testing.T, verb string) result {
	t.Helper()
	return runIn(t, e.checkout, e.env, filepath.Join(repository, ".slipway", "engine"), verb)
}

// pinned returns the reference of an image that the spare engine serves.
func (e spareEngine) pinned(t *testing.T, image string) string {
	t.Helper()
	return pinnedIn(t, filepath.Join(e.checkout, ".slipway", "pins.env"), image)
}

// host is the variable with which the CLI finds the spare engine.
func (e spareEngine) host() string {
	return noEngine + "unix://" + filepath.Join(e.run, "socket", "engine.sock")
}

// work has the spare engine pull an image, run it, and reach the network.
func (e spareEngine) work(t *testing.T) {
	t.Helper()
	out := runWith(t, []string{e.host()}, "dagger", "--progress=plain", "core", "container",
		"from", "--address="+e.pinned(t, "GOLANG"),
		"with-env-variable", "--name=GOPROXY", "--value="+strings.TrimSpace(run(t, "go", "env", "GOPROXY").must(t).stdout),
		"with-env-variable", "--name=GOSUMDB", "--value=off",
		// Not from the engine's cache.
		"with-env-variable", "--name=NOW", "--value="+time.Now().String(),
		"with-exec", "--args=go,list,-m,filippo.io/age@v1.3.2", "stdout").must(t).stdout
	if strings.TrimSpace(out) != "filippo.io/age v1.3.2" {
		t.Errorf("the engine's container printed %q", out)
	}
}

// cacheDir is where the engine in use was built.
func cacheDir(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(run(t, "make", "-s", "status").must(t).stdout) {
		if dir, ok := strings.CutPrefix(line, "cache:"); ok {
			return strings.TrimSpace(dir)
		}
	}
	t.Fatal("make status names no cache")
	return ""
}

// needOwnEngine skips where Docker or the environment provides the engine:
// there is nothing of ours to test then.
func needOwnEngine(t *testing.T) {
	t.Helper()
	if !strings.Contains(run(t, "make", "-s", "status").must(t).stdout, "cache:") {
		t.Skip("NOT RUN: the engine in use is not one that dev/engine built")
	}
}

// lastPort is the port that was given out last.
var lastPort atomic.Int32

func init() { lastPort.Store(20_000 + int32(os.Getpid())%5000) }

// freePort returns a port for a program that cannot choose one itself. The kernel gives none below 32768 to
// a connection, so nothing takes it by chance before that program does.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		port := int(lastPort.Add(1))
		if port >= 32768 {
			t.Fatal("no port from 20000 to 32767 is free")
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
}

// hostState is what an engine could leave behind on the host.
func hostState(t *testing.T, e spareEngine) string {
	t.Helper()
	roots := glob(t, filepath.Join(e.cache, "products", "engine-root-????????????????"))
	if len(roots) != 1 {
		t.Fatalf("engine roots %v", roots)
	}
	var state strings.Builder
	for _, command := range [][]string{
		{"ip", "-o", "-brief", "link"},
		{"ip", "rule"},
		{"chroot", roots[0], "iptables", "-t", "nat", "-S"},
		{"chroot", roots[0], "iptables", "-S"},
		{"findmnt", "--raw", "--noheadings", "-o", "TARGET,FSTYPE"},
		{"sysctl", "net.ipv4.ip_forward"},
		{"cat", "/etc/resolv.conf"},
		{"find", "/sys/fs/cgroup", "-name", "slipway-*", "-maxdepth", "4"},
	} {
		r := run(t, command[0], command[1:]...)
		fmt.Fprintf(&state, "$ %s\n%s%s", strings.Join(command, " "), r.stdout, r.stderr)
	}
	return state.String()
}

// processesOf lists the command lines of the processes that mention text.
func processesOf(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	for _, path := range glob(t, "/proc/[0-9]*/cmdline") {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), text) {
			found = append(found, path+": "+strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return found
}

// moduleProxy is the name of a host that this machine can look up, for it was
// built from there.
func moduleProxy(t *testing.T) string {
	t.Helper()
	first, _, _ := strings.Cut(run(t, "go", "env", "GOPROXY").must(t).stdout, ",")
	u, err := url.Parse(strings.TrimSpace(first))
	if err != nil || u.Hostname() == "" {
		return "localhost"
	}
	return u.Hostname()
}

// containerPID is the engine's process as the host numbers it.
func (e spareEngine) containerPID(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(e.run, "runc", "engine", "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), `"init_process_pid":`)
	pid, _, _ := strings.Cut(rest, ",")
	return pid
}

// TestEngineLifecycle starts an engine by two commands at once, kills it and then its network, repairs
// both, and checks what is left of it on the host at the end. It compares the state of the whole
// host, so no other test runs beside it.
func TestEngineLifecycle(t *testing.T) {
	testkit.Deep(t, "it compares the whole host before and after an engine")
	e := newSpareEngine(t)
	before := hostState(t, e)
	name := moduleProxy(t)
	resolved := run(t, "getent", "hosts", name).code

	e.upTwiceAtOnce(t)
	if run(t, "getent", "hosts", name).code != resolved {
		t.Error("the host's name lookups fail while the engine runs")
	}
	e.work(t)
	store := runWith(t, []string{e.host()}, "dagger", "--silent", "core", "engine", "local-cache", "max-used-space").must(t).stdout
	if strings.TrimSpace(store) != "2e+10" {
		t.Errorf("the store is capped at %s bytes, not at 20 GB", store)
	}

	e.takesNoPush(t)

	if out := e.engine(t, "up").must(t).stderr; strings.Contains(out, "make ") || strings.Contains(out, "start ") {
		t.Errorf("another up works again:\n%s", out)
	}

	run(t, "kill", "-9", e.containerPID(t)).must(t)
	if r := e.engine(t, "status"); r.code == 0 {
		t.Errorf("status after kill -9:\n%s", r.stdout)
	}
	e.engine(t, "up").must(t)
	e.work(t)

	// Without pasta, the engine has no network.
	pid, err := os.ReadFile(filepath.Join(e.run, "pasta.pid"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, "kill", "-9", strings.TrimSpace(string(pid))).must(t)
	e.engine(t, "up").must(t)
	e.work(t)

	e.engine(t, "down").must(t)
	if after := hostState(t, e); after != before {
		t.Errorf("down leaves something.\nbefore:\n%s\nafter:\n%s", before, after)
	}
	if left := processesOf(t, e.run); len(left) > 0 {
		t.Errorf("down leaves processes:\n%s", strings.Join(left, "\n"))
	}
	if _, err := os.Stat(e.run); !os.IsNotExist(err) {
		t.Errorf("down leaves the run folder: %v", err)
	}
	e.engine(t, "down").must(t) // and again, with nothing to do
}

// upTwiceAtOnce runs up twice at the same time: one starts the engine, and the other waits for it.
func (e spareEngine) upTwiceAtOnce(t *testing.T) {
	t.Helper()
	var results [2]result
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() { results[i] = e.engine(t, "up") })
	}
	group.Wait()
	for _, r := range results {
		r.must(t)
	}
	all := results[0].stderr + results[1].stderr
	if n := strings.Count(all, "start the engine …"); n != 1 {
		t.Errorf("the engine was started %d times:\n%s", n, all)
	}
}

// takesNoPush looks that the registry on loopback reads for all and writes for nobody,
// and that nobody else can enter the folder of the other.
func (e *spareEngine) takesNoPush(t *testing.T) {
	t.Helper()
	address := ""
	for _, variable := range e.env {
		if port, ok := strings.CutPrefix(variable, "SLIPWAY_REGISTRY_PORT="); ok {
			address = "http://127.0.0.1:" + port
		}
	}
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/v2/library/debian/tags/list", http.StatusOK},
		{http.MethodPost, "/v2/library/debian/blobs/uploads/", http.StatusMethodNotAllowed},
		{http.MethodPut, "/v2/library/debian/manifests/trixie-slim", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/v2/library/debian/manifests/sha256:" + strings.Repeat("0", 64), http.StatusMethodNotAllowed},
	} {
		request, err := http.NewRequest(c.method, address+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s %s: %s", c.method, c.path, response.Status)
		}
	}
	if info, err := os.Stat(filepath.Join(e.run, "push")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder for pushes: %v, %v", info, err)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// damage changes a byte of the smallest image that needs no compiler.
func (e spareEngine) damage(t *testing.T) {
	t.Helper()
	blobs := glob(t, filepath.Join(e.cache, "products", "image-debian-*", "blobs", "sha256", "*"))
	if len(blobs) == 0 {
		t.Fatal("the image has no files")
	}
	data, err := os.ReadFile(blobs[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	// A new file: the old one is linked into the real cache.
	if err := os.Remove(blobs[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blobs[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A damaged product is made again, also when the first attempt is killed, and made twice on the same
// day it gives the same image. On another day, Debian may have newer packages.
func TestDamagedCache(t *testing.T) {
	testkit.Deep(t, "it builds an image three times")
	e := newSpareEngine(t)
	e.damage(t)
	killed := exec.CommandContext(t.Context(), filepath.Join(repository, ".slipway", "engine"), "up")
	killed.Dir, killed.Env = e.checkout, append(os.Environ(), e.env...)
	var log bytes.Buffer
	killed.Stderr = &log
	testkit.Start(t, killed)
	ended := make(chan struct{})
	go func() {
		_ = killed.Wait()
		close(ended)
	}()
	// Killed when the packages are unpacked and about to be configured.
	dpkg := filepath.Join(e.cache, "scratch", "debian-*", "mmdebstrap.*", "usr", "bin", "dpkg")
	soon.Wait(t, "the packages are unpacked", func() bool {
		select {
		case <-ended:
			t.Fatalf("up ended before it could be killed: %s\n%s", killed.ProcessState, log.String())
		default:
		}
		return len(glob(t, dpkg)) > 0
	})
	_ = killed.Process.Kill() // also if it has just ended: its log says so
	<-ended
	if mounts := run(t, "findmnt", "--raw", "--noheadings", "-o", "TARGET").must(t).stdout; strings.Contains(mounts, e.cache) {
		t.Errorf("the killed up left mounts:\n%s", mounts)
	}
	if out := log.String(); !strings.Contains(out, "image-debian is damaged in the cache: rebuilding it") || strings.Contains(out, "make image-debian: ") {
		t.Fatalf("the damage went unnoticed, or the kill came too late:\n%s", out)
	}

	e.engine(t, "up").must(t)
	e.work(t)
	pins := func() string {
		text, err := os.ReadFile(filepath.Join(e.checkout, ".slipway", "pins.env"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := pins()
	e.damage(t)
	e.engine(t, "down").must(t) // a running engine's products are not looked at
	e.engine(t, "up").must(t)
	if second := pins(); second != first {
		t.Errorf("another build gives other digests:\n%s\n%s", first, second)
	}
	if left := processesOf(t, filepath.Join(e.cache, "scratch")); len(left) > 0 {
		t.Errorf("the killed up left processes:\n%s", strings.Join(left, "\n"))
	}
}

// Each case that the engine program must refuse, with its sentence and hint.
func TestEngineRefuses(t *testing.T) {
	testkit.Deep(t, "it needs mounts and ports of its own")
	needOwnEngine(t)
	program := filepath.Join(repository, ".slipway", "engine")
	empty := func(t *testing.T) []string {
		return []string{noEngine, "SLIPWAY_CACHE_DIR=" + filepath.Join(t.TempDir(), "cache"), "SLIPWAY_RUN_DIR=" + shortTemp(t), "SLIPWAY_REGISTRY_PORT=" + strconv.Itoa(freePort(t))}
	}
	for name, c := range map[string]struct {
		prepare     func(t *testing.T) (env []string, command []string)
		error, hint string
	}{
		"a user who is not root": {
			func(t *testing.T) ([]string, []string) {
				// In a place that this user can read.
				copied := filepath.Join(shortTemp(t), "engine")
				run(t, "cp", program, copied).must(t)
				checkout := shortTemp(t)
				run(t, "cp", "dagger.json", checkout).must(t)
				for _, path := range []string{filepath.Dir(copied), checkout} {
					run(t, "chmod", "-R", "a+rX", path).must(t)
				}
				return append(empty(t), "HOME=/nonexistent"), []string{"sh", "-c", "cd " + checkout + " && exec setpriv --reuid 65534 --regid 65534 --clear-groups " + copied + " up"}
			},
			"only root can build and run an engine, and this is user 65534", "sudo make engine",
		},
		"a machine without a network": {
			func(t *testing.T) ([]string, []string) {
				return empty(t), []string{"unshare", "--net", program, "up"}
			},
			"no network: ", "connect this machine",
		},
		"a port that is taken": {
			func(t *testing.T) ([]string, []string) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = listener.Close() })
				port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
				return append(empty(t), "SLIPWAY_REGISTRY_PORT="+port), []string{program, "up"}
			},
			"on 127.0.0.1, meant for the registry, is in use", "export SLIPWAY_REGISTRY_PORT=",
		},
		"a disk that is nearly full": {
			func(t *testing.T) ([]string, []string) {
				disk := t.TempDir()
				run(t, "mount", "-t", "tmpfs", "-o", "size=2G", "tmpfs", disk).must(t)
				t.Cleanup(func() { run(t, "umount", disk) })
				return append(empty(t), "SLIPWAY_CACHE_DIR="+filepath.Join(disk, "cache")), []string{program, "up"}
			},
			"has 2 GB left, and the engine needs", "export SLIPWAY_CACHE_DIR=",
		},
		"a CLI of another version": {
			func(t *testing.T) ([]string, []string) {
				bin := t.TempDir()
				script := "#!/bin/sh\necho 'dagger v0.18.2 (docker-image://registry.dagger.io/engine:v0.18.2) linux/amd64'\n"
				if err := os.WriteFile(filepath.Join(bin, "dagger"), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
				return append(empty(t), "PATH="+bin+":"+os.Getenv("PATH"), "_EXPERIMENTAL_DAGGER_RUNNER_HOST=tcp://127.0.0.1:1"), []string{program, "up"}
			},
			"the dagger in PATH is v0.18.2, and tcp://127.0.0.1:1 needs v0.19.10 or v0.19.11", "install the Dagger CLI v0.19.11",
		},
	} {
		t.Run(name, func(t *testing.T) {
			env, command := c.prepare(t)
			r := runWith(t, env, command[0], command[1:]...)
			if r.code != 3 || !strings.Contains(r.stderr, "engine: error: ") || !strings.Contains(r.stderr, c.error) || !strings.Contains(r.stderr, "engine: hint: "+c.hint) {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
		})
	}
}

// shortTemp is a folder whose path leaves room for a socket.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/run", "slipway-e2e-") //nolint:forbidigo // as it says
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// An export of many files ends: see takeRequests in dev/engine/dagger.go. Without it, most hang.
func TestExportOfManyFiles(t *testing.T) {
	testkit.Deep(t, "it exports 640 MB")
	needOwnEngine(t)
	const files, size = 20_000, 32 << 10
	target := filepath.Join(t.TempDir(), "files")
	script := fmt.Sprintf("mkdir /files && cd /files && head -c %d /dev/urandom | split --suffix-length=5 --numeric-suffixes --bytes=%d", files*size, size)
	dagger(t, "core", "container", "from", "--address="+pinned(t, "DEBIAN"), "with-exec", "--args=sh,-c,"+script,
		"directory", "--path=/files", "export", "--path="+target).must(t)
	found, err := os.ReadDir(target)
	if err != nil || len(found) != files {
		t.Errorf("%d files arrived, %v", len(found), err)
	}
}
