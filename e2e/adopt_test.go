//go:build e2e

package e2e

import (
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"slipway/internal/testkit"
)

// committed is a repository with the files of ours as they are now, committed.
func committed(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	copyRepository(t, dir)
	// Forced: one file is there to be ignored, see ci/repository.go.
	commit = strings.TrimSpace(runIn(t, dir, nil, "sh", "-c", "git init -q -b main && git add -f . && "+commitAll+" && git rev-parse HEAD").must(t).stdout)
	return dir, commit
}

const commitAll = "git -c user.name=alice -c user.email=alice@example.org commit -q -m all"

// copyRepository copies the files of ours that git knows or would add.
func copyRepository(t *testing.T, dir string) {
	t.Helper()
	run(t, "sh", "-c", "git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "+dir).must(t)
}

// serveGit serves the repository below dir by git's own HTTP server where the engine
// reaches it, and returns its address, with no scheme.
//
// Dagger takes modules by https, http and ssh only, reads no port from an address, and its
// engine has a network of its own. So the server listens on port 80 of the loopback there.
func serveGit(t *testing.T, dir string) string {
	t.Helper()
	network := engineNetwork(t)
	backend := filepath.Join(strings.TrimSpace(run(t, "git", "--exec-path").must(t).stdout), "git-http-backend")

	var listener net.Listener
	var address string
	// Another checkout's tests may be at it. The engine's caches are by the address, so the first is best.
	for last := 1; last < 10 && listener == nil; last++ {
		address = "127.0.0." + strconv.Itoa(last)
		var err error
		if listener, err = listenIn(network, address+":80"); err != nil && !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
	if listener == nil {
		t.Fatal("port 80 is taken on nine addresses of the engine's loopback")
	}
	root := t.TempDir()
	run(t, "git", "clone", "-q", "--bare", dir, filepath.Join(root, "slipway.git")).must(t)
	server := &http.Server{Handler: &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}}}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return address + "/slipway.git"
}

// engineNetwork is the network namespace of the engine, which has to be our own.
func engineNetwork(t *testing.T) string {
	t.Helper()
	needOwnEngine(t)
	_, socket, _ := strings.Cut(os.Getenv("_EXPERIMENTAL_DAGGER_RUNNER_HOST"), "unix://")
	return filepath.Join(filepath.Dir(filepath.Dir(socket)), "netns")
}

// listenIn listens on an address of another network namespace.
func listenIn(network, address string) (listener net.Listener, err error) {
	err = within(network, func() (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	return listener, err
}

// within calls a function in another network namespace.
func within(network string, call func() error) error {
	file, err := os.Open(network)
	if err != nil {
		return err
	}
	defer file.Close()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = call()
		}
		done <- err
	}()
	return <-done
}

// An adopter has a home with nothing in it, and a repository of their own.
type adopter struct {
	dir string
	env []string
}

func newAdopter(t *testing.T) adopter {
	t.Helper()
	bin := t.TempDir()
	run(t, "go", "build", "-modfile=dev/tools/go.mod", "-o", bin, "filippo.io/age/cmd/age-keygen").must(t)
	// Dagger takes the module's name from the folder's, and none that begins with a digit.
	a := adopter{dir: filepath.Join(t.TempDir(), "acme"), env: []string{"HOME=" + t.TempDir(), "PATH=" + bin + ":" + os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=alice", "GIT_AUTHOR_EMAIL=alice@example.org", "GIT_COMMITTER_NAME=alice", "GIT_COMMITTER_EMAIL=alice@example.org"}}
	run(t, "git", "init", "-q", "-b", "main", a.dir).must(t)
	return a
}

// deleted is what the engine says when its store was full and it deleted what a call was about
// to read. Calls of a module that was fetched by git meet it most: their constructor is kept
// from one session to the next.
var deleted = regexp.MustCompile(`could not get used client id|snapshot \w+ does not exist`)

// shell runs a command in the repository, and again if the engine has lost its work.
func (a adopter) shell(t *testing.T, command string) result {
	t.Helper()
	r := runIn(t, a.dir, a.env, "bash", "-c", command)
	if r.code != 0 && deleted.MatchString(r.stderr) {
		t.Logf("%s: the engine has deleted what it needed: trying again", command)
		r = runIn(t, a.dir, a.env, "bash", "-c", command)
	}
	return r
}

// usePins has the calls take the images that this machine serves.
func (a adopter) usePins(t *testing.T) {
	t.Helper()
	a.shell(t, "echo PINS="+pinsInUse(t)+" >>.env").must(t)
}

// TestAdopt does what docs/adopt.md says, line by line as it is written, with a Slipway that
// is fetched by git. Then it calls the module in the way that would look at Slipway's examples.
func TestAdopt(t *testing.T) {
	testkit.Deep(t, "it adopts a whole system")
	t.Parallel()
	slipway, commit := committed(t)
	address := "http://" + serveGit(t, slipway) + "@" + commit
	a := newAdopter(t)
	a.env = append(a.env, "SLIPWAY="+address)

	lines := guideLines(t, filepath.Join(repository, "docs/adopt.md"), "From nothing to a first apply")
	if len(lines) < 10 || !strings.HasPrefix(lines[0].command, "SLIPWAY=github.com/OWNER/slipway@COMMIT ") {
		t.Fatalf("the guide has %d commands, and begins with %q", len(lines), lines[0].command)
	}
	for _, line := range lines[1:] {
		a.shell(t, line.command).must(t).says(t, line.prints...)
		if strings.Contains(line.command, " .env") {
			a.usePins(t)
		}
	}

	// What it says after that.
	a.shell(t, "dagger call apply --env=local").must(t).says(t, "local: No changes.")
	a.shell(t, "dagger call secrets check").must(t).says(t, "the MAC is correct")
	if left := a.shell(t, "git status --porcelain").must(t).stdout; left != "" {
		t.Errorf("git sees what nobody wrote:\n%s", left)
	}
	mine := "locals { mine = true }\n"
	if err := os.WriteFile(filepath.Join(a.dir, "environments/local/settings.tf"), []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	a.shell(t, "dagger -m $SLIPWAY call -y starter --into=. --env=test").must(t)
	if text, err := os.ReadFile(filepath.Join(a.dir, "environments/local/settings.tf")); err != nil || string(text) != mine {
		t.Errorf("the starter changed a file that was there: %v\n%s", err, text)
	}
	a.shell(t, "git checkout -q environments/local").must(t)
	a.shell(t, "dagger call validate").must(t).says(t, "environments/local: valid", "environments/test: valid")
	a.shell(t, "dagger call fmt").must(t)
	a.shell(t, "dagger call environments").must(t).says(t, "test   no         missing")
	a.shell(t, "dagger call apply --env=test").refuses(t, "there are no files credentials/test.enc.env and credentials/test-plan.enc.env")

	for _, function := range []string{"environments", "validate", "fmt", "drift", "secrets check", "plan --env=local", "apply --env=local"} {
		a.shell(t, "dagger -m $SLIPWAY call "+function).refuses(t, "the module was called by its address and was given no repository of yours", "hint: call it with --source=.")
	}
	a.shell(t, "dagger -m $SLIPWAY call --pins="+pinsInUse(t)+" --source=. environments").must(t).says(t, "test   no         missing")
	a.shell(t, "dagger call starter --into=. --env=local").refuses(t, "the starter files are in Slipway's own repository", "hint: dagger -m ADDRESS call starter --into=. --env=local")
	a.shell(t, "dagger -m $SLIPWAY call starter --into=. --env=nowhere").refuses(t, `there is no environment "nowhere" to begin with`, "hint: --env=local, --env=preprod")
}

// A Slipway that is a folder of the adopter's repository is a blueprint as well.
func TestAdoptFolder(t *testing.T) {
	testkit.Deep(t, "it adopts a folder of several roots")
	t.Parallel()
	a := newAdopter(t)
	folder := filepath.Join(a.dir, "slipway")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	copyRepository(t, folder)
	a.shell(t, "dagger init --blueprint=./slipway && dagger -m ./slipway call -y --source=./slipway starter --into=. --env=local").must(t)
	a.usePins(t)
	a.shell(t, "echo LOCALDATA=slipway-e2e-"+rand.Text()+" >>.env").must(t)
	a.shell(t, "dagger call environments").must(t).says(t, "local  no         missing")
	a.shell(t, "dagger call validate").must(t).says(t, "environments/local: valid")
	a.shell(t, "rm -r environments && dagger call validate").refuses(t, "environments")
}

// What decides whether the stage runner is built again is its Go files: neither their tests,
// nor a doc, nor the module's own code.
func TestRunnerIsBuiltOnce(t *testing.T) {
	testkit.Deep(t, "it builds the runner again")
	t.Parallel()
	dir := t.TempDir()
	copyRepository(t, dir)
	add := func(name, text string) {
		t.Helper()
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	built := func() string {
		t.Helper()
		r := runIn(t, dir, nil, "dagger", "--progress=plain", "call", "--pins="+pinsInUse(t), "toolchain", "container",
			"with-exec", "--args=stat,--format=built at %y,/usr/local/bin/slipway", "stdout")
		return r.must(t).says(t, "built at ").stdout
	}
	add("cmd/slipway/main.go", "// "+rand.Text()+"\n")
	first := built()
	add("README.md", "More.\n")
	add("cmd/slipway/main_test.go", "// More.\n")
	add("ci/pins.go", "// More.\n")
	add("dev/cloudsim/main.go", "// More.\n") // another program
	if again := built(); again != first {
		t.Errorf("%sand after changes that are not its own %s", first, again)
	}
	add("internal/redact/redact.go", "// More.\n")
	if again := built(); again == first {
		t.Error("it was not built after a change of its code")
	}
}
