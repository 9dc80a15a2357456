package managed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"slipway/dev/cloudsim/ovh"
)

// A server runs the PostgreSQL of one cluster. After a power cut it goes on where that stopped it,
// as PostgreSQL does.
type server struct {
	dir     string       // of this cluster
	lock    *os.File     // held as long as any of the processes lives
	cluster ovh.Instance // what runs, as far as it could be applied

	running  *exec.Cmd     // nil: none
	ended    chan struct{} // closed when it ends
	settings string        // those that it was started with
	access   string        // those that it has read
	content  string        // the users and databases that it has
}

// programs is the folder of Debian's PostgreSQL of the only version that we play.
const (
	version  = "17"
	programs = "/usr/lib/postgresql/" + version + "/bin"
)

// socketFolder is where our own connections come in.
const socketFolder = "/run/cloudsim-postgresql"

// become makes PostgreSQL agree with the cluster.
func (s *server) become(ctx context.Context, k ovh.Instance) error {
	if k.Version != version {
		return fmt.Errorf("cluster %s has version %s, and only %s can be played", k.Name, k.Version, version)
	}
	s.cluster = k
	settings, access := s.settingsFile(), s.accessFile()
	if s.runs() && settings != s.settings {
		if err := s.stop(); err != nil {
			return err
		}
	}
	if !s.runs() {
		if err := s.start(ctx, settings, access); err != nil {
			return err
		}
	}
	if access != s.access {
		if err := s.write("access.conf", access, 0o644); err != nil {
			return err
		}
		if err := s.running.Process.Signal(syscall.SIGHUP); err != nil { // it reads the file again
			return err
		}
		s.access = access
	}
	return s.applyContent(ctx)
}

// start creates the data if there is none, starts PostgreSQL, and waits until it responds.
func (s *server) start(ctx context.Context, settings, access string) error {
	as, err := owner()
	if err != nil {
		return err
	}
	if err := s.initialize(ctx, as); err != nil {
		return err
	}
	if err := os.MkdirAll(socketFolder, 0o700); err != nil {
		return err
	}
	if err := os.Chown(socketFolder, int(as.Uid), int(as.Gid)); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"postgresql.conf": settings, "access.conf": access, "server.pem": s.cluster.Certificates.Server, "server.key": s.cluster.Certificates.Key,
	} {
		if err := s.write(name, text, 0o600); err != nil {
			return err
		}
		if err := os.Chown(filepath.Join(s.dir, name), int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	// After a power cut it names a process of another container, whose number may now be another
	// program's. We hold the lock, so it is none of PostgreSQL's.
	if err := os.Remove(filepath.Join(s.dir, "data", "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	output, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(programs, "postgres"),
		"-D", filepath.Join(s.dir, "data"), "--config-file="+filepath.Join(s.dir, "postgresql.conf"))
	cmd.Stdout, cmd.Stderr = output, output
	cmd.ExtraFiles = []*os.File{s.lock}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	log.Printf("PostgreSQL of %s starts", s.cluster.Name)
	s.running, s.ended, s.settings, s.access, s.content = cmd, make(chan struct{}), settings, access, ""
	go func() {
		_ = cmd.Wait()
		close(s.ended)
	}()
	for {
		if _, err := s.query(ctx, "postgres", "SELECT 1"); err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("PostgreSQL of %s ended: %s", s.cluster.Name, s.lastOfLog())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// initialize creates the data folder by one rename: a power cut leaves all of it or nothing.
func (s *server) initialize(ctx context.Context, as *syscall.Credential) error {
	data := filepath.Join(s.dir, "data")
	if _, err := os.Stat(data); err == nil {
		return s.own(data, as)
	}
	partial := data + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.MkdirAll(partial, 0o700); err != nil {
		return err
	}
	for _, folder := range []string{s.dir, partial} {
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata="+partial, "--username="+superuser,
		"--encoding=UTF8", "--locale=C.UTF-8", "--auth=reject", "--data-checksums")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("create the data of %s: %w: %s", s.cluster.Name, err, text)
	}
	return os.Rename(partial, data)
}

// own passes the data to the user as whom PostgreSQL runs: another build of the container may have
// given that another number.
func (s *server) own(data string, as *syscall.Credential) error {
	info, err := os.Stat(data)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid == as.Uid && stat.Gid == as.Gid {
		return nil
	}
	return filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(as.Uid), int(as.Gid))
	})
}

// runs reports whether PostgreSQL is running.
func (s *server) runs() bool {
	if s.running == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// stop ends PostgreSQL and its connections.
func (s *server) stop() error {
	if !s.runs() {
		return nil
	}
	log.Printf("PostgreSQL of %s stops", s.cluster.Name)
	for _, one := range []struct {
		signal os.Signal
		wait   time.Duration
	}{{os.Interrupt, 10 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {os.Kill, time.Second}} {
		if err := s.running.Process.Signal(one.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-s.ended:
			return nil
		case <-time.After(one.wait):
		}
	}
	return fmt.Errorf("PostgreSQL of %s does not end", s.cluster.Name)
}

// query runs SQL as the superuser and returns its rows, with a unit separator between columns.
func (s *server) query(ctx context.Context, database, sql string) (string, error) {
	as, err := owner()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "psql"), "--no-psqlrc", "--quiet", "--no-align", "--tuples-only",
		"--field-separator="+unit, "--record-separator=\n", "--set=ON_ERROR_STOP=1", "--no-password", "--file=-")
	cmd.Env = []string{
		"PGHOST=" + socketFolder, "PGPORT=" + strconv.Itoa(s.cluster.Port), "PGUSER=" + superuser, "PGDATABASE=" + database,
		"PGOPTIONS=-c client_min_messages=warning", "LC_ALL=C.UTF-8",
	}
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(sql)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ask PostgreSQL of %s: %w: %s", s.cluster.Name, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

const unit = "\x1f"

// write replaces a file of the cluster by one rename.
func (s *server) write(name, text string, mode fs.FileMode) error {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// owner is the user as whom PostgreSQL runs: it refuses root.
func owner() (*syscall.Credential, error) {
	account, err := user.Lookup(superuser)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (s *server) lastOfLog() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}
