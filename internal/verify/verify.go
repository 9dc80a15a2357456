// Package verify checks a deployed system from outside, as its users and devices see it.
package verify

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/remote"
	"slipway/internal/run"
)

// The checks, in the order in which they run.
const (
	HTTPS  = "https"
	Flow   = "flow"
	Reboot = "reboot"
)

// Checks lists them.
var Checks = []string{HTTPS, Flow, Reboot}

// A Verifier checks the system of one environment.
type Verifier struct {
	*run.Run
	Settings *environment.Verify
	// Cut reboots the host of the check reboot, like a power cut.
	Cut func(ctx context.Context, host string) error

	// Dial connects to an address; nil: as ssh does, through the environment's proxy, if it has one.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Times other than the defaults, for tests; zero: the default.
	Times Times
	// Now is the clock of the reboot; nil: time.Now.
	Now func() time.Time

	roots *x509.CertPool // nil: not read yet
}

// Times say how long a check waits for what.
type Times struct {
	Start  time.Duration // until a system that has just been deployed, or whose host has just booted, answers
	Store  time.Duration // until what was published is stored
	Around time.Duration // of publishing before a reboot, and after it
}

// times returns the times with their defaults.
func (v *Verifier) times() Times {
	t := v.Times
	t.Start, t.Store, t.Around = cmp.Or(t.Start, time.Minute), cmp.Or(t.Store, time.Minute), cmp.Or(t.Around, 5*time.Second)
	return t
}

// now reads the clock.
func (v *Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now()
	}
	return time.Now()
}

// Named returns the checks that environment.yaml names, in their order.
func Named(settings *environment.Verify) []string {
	var list []string
	for _, check := range Checks {
		if check == HTTPS && settings.HTTPS != nil || check == Flow && settings.Flow != nil || check == Reboot && settings.Reboot != nil {
			list = append(list, check)
		}
	}
	return list
}

// Harmless returns the named checks that disturb nobody: all but the reboot. settings may be nil.
func Harmless(settings *environment.Verify) []string {
	if settings == nil {
		return nil
	}
	return slices.DeleteFunc(Named(settings), func(check string) bool { return check == Reboot })
}

// All runs all the checks, also after one that failed. A refusal ends them.
func (v *Verifier) All(ctx context.Context, checks []string) error {
	var failed []string
	for _, check := range checks {
		v.Say("%s …", run.Word(check))
		found, err := v.Check(ctx, check)
		if fault.Is(err, fault.Refused) || ctx.Err() != nil {
			return err
		}
		result := run.CheckResult{Name: check, Status: "passed", Found: found}
		if err != nil {
			result.Status, result.Found = "failed", err.Error()
			failed = append(failed, check)
		}
		v.Result.Checks = append(v.Result.Checks, result)
		fmt.Fprintf(&v.Report, "%s: %s: %s\n", check, result.Status, result.Found)
	}
	if len(failed) > 0 {
		return fault.Fail("dagger call verify --env="+v.Env+" --only="+failed[0], "%d of %d checks failed: %s", len(failed), len(checks), strings.Join(failed, ", "))
	}
	return nil
}

// Check runs one check and returns what it found.
func (v *Verifier) Check(ctx context.Context, check string) (found string, err error) {
	err = v.Timed(check, func() error {
		switch check {
		case HTTPS:
			found, err = v.https(ctx, *v.Settings.HTTPS)
		case Flow:
			found, err = v.flow(ctx, *v.Settings.Flow)
		case Reboot:
			found, err = v.reboot(ctx, *v.Settings.Flow, *v.Settings.Reboot)
		}
		return err
	})
	return found, err
}

// maxAnswer bounds an answer of the system, in bytes.
const maxAnswer = 16 << 20

// timeout is how long one request may take.
const timeout = 30 * time.Second

func (v *Verifier) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if v.Dial != nil {
		return v.Dial(ctx, address)
	}
	proxy := ""
	if v.Environment.SSH != nil {
		proxy = v.Environment.SSH.Proxy
	}
	return remote.Connect(ctx, proxy, address)
}

// trust returns the authorities whose certificates are accepted; nil: those of this machine.
func (v *Verifier) trust(ctx context.Context) (*x509.CertPool, error) {
	at := v.Settings.Roots
	if at == "" || v.roots != nil {
		return v.roots, nil
	}
	text, err := v.readRoots(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of verify.roots: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fault.Refuse("$EDITOR environments/"+v.Env+"/environment.yaml", "verify.roots is %q, which has no certificate in PEM", at)
	}
	v.roots = pool
	return pool, nil
}

func (v *Verifier) readRoots(ctx context.Context, at string) ([]byte, error) {
	if !strings.Contains(at, "://") {
		return os.ReadFile(filepath.Join(v.Repository, filepath.FromSlash(at)))
	}
	response, err := v.get(ctx, &http.Client{Timeout: timeout}, at)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxAnswer))
}

func (v *Verifier) tls(ctx context.Context) (*tls.Config, error) {
	roots, err := v.trust(ctx)
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, err
}

func (v *Verifier) client(ctx context.Context) (*http.Client, error) {
	config, err := v.tls(ctx)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: v.dial, TLSClientConfig: config, DisableKeepAlives: true, TLSHandshakeTimeout: timeout,
		},
		// Another host, or one without TLS, would answer for the checked one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (v *Verifier) get(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(request)
}

// ask reads an answer of the system's API.
func (v *Verifier) ask(ctx context.Context, client *http.Client, url string, into any) error {
	response, err := v.get(ctx, client, url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers with %s", url, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("%s answers with something else than the expected JSON", url)
	}
	return nil
}
