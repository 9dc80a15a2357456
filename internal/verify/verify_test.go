package verify

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// A system has a broker, an API and a database in memory, in this process. Its mistakes are up to
// the test.
type system struct {
	t *testing.T
	*Verifier
	web  *httptest.Server
	said *bytes.Buffer

	lock     sync.Mutex
	rows     map[string][]Position // by device
	mistake  func(p Position) (store, acknowledge bool)
	broker   *mochi.Server
	port     string
	twice    int // the position that is stored twice
	unlisted int // the position that the API counts and does not list
	down     bool
	asked    int    // requests that failed
	back     int    // requests that fail before a system without power is back; 0: it never is
	lostPath string // requests for it fail
	lostOnly int    // but no more than these; 0: all
	redirect string // to which the system leads
}

func newSystem(t *testing.T) *system {
	t.Helper()
	s := &system{t: t, rows: map[string][]Position{}}
	s.web = httptest.NewTLSServer(s)
	t.Cleanup(s.web.Close)
	s.openPort()
	s.startBroker()
	t.Cleanup(s.stopBroker)
	r, _, said := testkit.Quiet(t, run.Command{Name: "verify"})
	s.said = said
	r.Repository = t.TempDir()
	r.Credentials = map[string]string{"PASSWORD": "password-of-the-tracker"}
	r.Environment = &environment.Environment{Name: "prod"}
	must.Do(t, os.WriteFile(filepath.Join(r.Repository, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.web.Certificate().Raw}), 0o600))
	at := s.url()
	s.Verifier = &Verifier{
		Run:   r,
		Times: Times{Start: time.Hour, Store: time.Hour, Around: 300 * time.Millisecond}, // what works has no limit
		Settings: &environment.Verify{
			Roots:  "ca.pem",
			HTTPS:  &environment.HTTPSCheck{URL: at + "/"},
			Flow:   &environment.FlowCheck{Broker: "example.com:" + s.port, API: at + "/api", User: "tracker", Credential: "PASSWORD", Positions: 20},
			Reboot: &environment.RebootCheck{Host: "prod-backend", Seconds: 60 * 60},
		},
		Cut: func(context.Context, string) error { s.powerCut(2); return nil },
	}
	s.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		_, port, _ := strings.Cut(address, ":")
		return (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
	}
	return s
}

// url is that of the API, by a name that its certificate has.
func (s *system) url() string {
	_, port, _ := strings.Cut(s.web.Listener.Addr().String(), ":")
	return "https://example.com:" + port
}

// hook stores what is published, as the backend does.
type hook struct {
	mochi.HookBase
	system *system
}

func (h *hook) Provides(b byte) bool { return b == mochi.OnPublished }

func (h *hook) OnPublished(_ *mochi.Client, packet packets.Packet) {
	device, ok := strings.CutPrefix(packet.TopicName, "positions/")
	var p Position
	if !ok || json.Unmarshal(packet.Payload, &p) != nil {
		return
	}
	s := h.system
	s.lock.Lock()
	store, acknowledge := true, true
	if s.mistake != nil {
		store, acknowledge = s.mistake(p)
	}
	known := slices.ContainsFunc(s.rows[device], func(row Position) bool { return row.Seq == p.Seq && row.Time.Equal(p.Time) })
	if store && !known {
		s.rows[device] = append(s.rows[device], p)
		if p.Seq == s.twice {
			s.rows[device] = append(s.rows[device], p)
		}
	}
	broker := s.broker
	s.lock.Unlock()
	if acknowledge && broker != nil {
		_ = broker.Publish("acks/"+device, fmt.Appendf(nil, `{"seq": %d}`, p.Seq), false, 1)
	}
}

// openPort opens the broker's port, which stays open while the broker is away: another program could
// take it.
func (s *system) openPort() {
	s.t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(s.t, err)
	s.t.Cleanup(func() { _ = port.Close() })
	_, s.port, _ = strings.Cut(port.Addr().String(), ":")
	go func() {
		for {
			connection, err := port.Accept()
			if err != nil {
				return
			}
			s.lock.Lock()
			broker := s.broker
			s.lock.Unlock()
			if broker == nil {
				_ = connection.Close()
				continue
			}
			go func() {
				_ = broker.EstablishConnection("tls", tls.Server(connection, &tls.Config{Certificates: s.web.TLS.Certificates}))
			}()
		}
	}()
}

func (s *system) startBroker() {
	broker := mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	must.Do(s.t, broker.AddHook(new(auth.Hook), &auth.Options{Ledger: &auth.Ledger{Auth: auth.AuthRules{{Username: "tracker", Password: "password-of-the-tracker", Allow: true}}}}))
	must.Do(s.t, broker.AddHook(&hook{system: s}, nil))
	must.Do(s.t, broker.AddListener(listeners.NewMockListener("tls", ""))) // openPort listens
	go func() { _ = broker.Serve() }()
	s.lock.Lock()
	s.broker = broker
	s.lock.Unlock()
}

func (s *system) stopBroker() {
	s.lock.Lock()
	broker := s.broker
	s.broker = nil
	s.lock.Unlock()
	if broker != nil {
		_ = broker.Close()
	}
}

// powerCut ends the broker and the API, and starts them again after so many failed requests; 0: never.
func (s *system) powerCut(requests int) {
	s.lock.Lock()
	s.down, s.asked, s.back = true, 0, requests
	s.lock.Unlock()
	s.stopBroker()
}

// devices counts the devices that are connected to the broker.
func (s *system) devices() (n int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for id := range s.broker.Clients.GetAll() {
		if strings.HasPrefix(id, "verify-") {
			n++
		}
	}
	return n
}

// failing reports whether a request fails.
func (s *system) failing(path string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if !s.down && (s.lostPath == "" || !strings.HasPrefix(path, s.lostPath)) {
		return false
	}
	s.asked++
	if s.asked == s.lostOnly {
		s.lostPath = ""
	}
	if s.down && s.asked == s.back {
		go func() {
			s.startBroker()
			s.lock.Lock()
			s.down = false
			s.lock.Unlock()
		}()
	}
	return true
}

// ServeHTTP is the API.
func (s *system) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.failing(r.URL.Path) {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.redirect != "" {
		http.Redirect(w, r, s.redirect, http.StatusFound)
		return
	}
	var answer any = []Position{}
	switch device, ok := strings.CutPrefix(r.URL.Path, "/api/positions/"); {
	case ok && device == "count":
		rows := s.rows[r.URL.Query().Get("device")]
		distinct := map[int]bool{}
		for _, p := range rows {
			distinct[p.Seq] = true
		}
		answer = map[string]int{"count": len(rows), "distinct": len(distinct)}
	case ok:
		answer = slices.DeleteFunc(slices.Clone(s.rows[device]), func(p Position) bool { return p.Seq == s.unlisted })
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	found, err := s.Check(t.Context(), HTTPS)
	must.Do(t, err)
	if !strings.HasPrefix(found, s.url()+"/ answers with 200; its certificate from an authority without a name is valid until 2084-") {
		t.Errorf("got %s", found)
	}
	for name, c := range map[string]struct {
		change func(*system)
		want   string
	}{
		"expires soon":    {func(s *system) { s.Settings.HTTPS.Days = 365 * 100 }, "expires on 2084-"},
		"another answer":  {func(s *system) { s.lostPath = "/" }, "answers with 502 Bad Gateway"},
		"a redirect":      {func(s *system) { s.redirect = "http://example.com/" }, "answers with 302 Found, to http://example.com/: name that URL in verify.https.url"},
		"not trusted":     {func(s *system) { s.Settings.Roots = "" }, "failed to verify certificate"},
		"another name":    {func(s *system) { s.Settings.HTTPS.URL = strings.Replace(s.url(), "example.com", "other.test", 1) }, "other.test"},
		"nobody is there": {func(s *system) { s.Settings.HTTPS.URL = "https://example.com:1/" }, "connection refused"},
		"roots are gone":  {func(s *system) { s.Settings.Roots = "gone.pem" }, "read the certificates of verify.roots"},
		"roots are empty": {func(s *system) { must.Do(t, os.WriteFile(filepath.Join(s.Repository, "ca.pem"), nil, 0o600)) }, `verify.roots is "ca.pem", which has no certificate in PEM`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			s.Times.Start = 100 * time.Millisecond
			c.change(s)
			if _, err := s.Check(t.Context(), HTTPS); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestFlow(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.Settings.Flow.Positions = 0 // the default
	found, err := s.Check(t.Context(), Flow)
	must.Do(t, err)
	if !strings.HasPrefix(found, "100 of 100 positions are in the database, each once, ") {
		t.Errorf("got %s", found)
	}
	for name, c := range map[string]struct {
		change func(*system)
		want   string
	}{
		"one is not stored":   {func(s *system) { s.mistake = func(p Position) (bool, bool) { return p.Seq != 7, true } }, "the database has 19 positions of verify-"},
		"one is stored twice": {func(s *system) { s.twice = 7 }, "the database has 21 positions of verify-"},
		"one is another's copy": {func(s *system) {
			s.twice, s.mistake = 8, func(p Position) (bool, bool) { return p.Seq != 7, true }
		}, ", 19 of them different, instead of 20"},
		"one is not listed":       {func(s *system) { s.unlisted = 20 }, "the API has position 20 of verify-"},
		"none is listed":          {func(s *system) { s.lostPath = "/api/positions/verify-" }, "answers with 502"},
		"one is not acknowledged": {func(s *system) { s.mistake = func(p Position) (bool, bool) { return true, p.Seq != 7 } }, "19 of 20 positions of verify-"},
		"nothing is connected":    {func(s *system) { s.mistake = func(Position) (bool, bool) { return false, false } }, "the first position of verify-"},
		"the API does not answer": {func(s *system) { s.lostPath = "/api/positions/count" }, "answers with 502"},
		"another password":        {func(s *system) { s.Credentials["PASSWORD"] = "other" }, "connect to the broker example.com:"},
		"no password":             {func(s *system) { s.Credentials["PASSWORD"] = "" }, "the credentials of prod have no PASSWORD, the MQTT password of tracker"},
		"no broker":               {func(s *system) { s.Settings.Flow.Broker = "example.com:1" }, "connect to the broker example.com:1: "},
		"another name":            {func(s *system) { s.Settings.Flow.Broker = "other.test:" + s.port }, "connect to the broker other.test:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			c.change(s)
			switch {
			case strings.Contains(c.want, "the first position"), strings.Contains(c.want, "connect to the broker"):
				s.Times.Start = 300 * time.Millisecond
			default: // and the rest has to be stored by then
				s.Times.Store = 3 * time.Second
			}
			if _, err := s.Check(t.Context(), Flow); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A broker takes what is published before the backend is connected, and nobody stores it. Until the
// first position is stored, a device publishes no other.
func TestFlowBeforeTheBackend(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	var missed []int
	s.mistake = func(p Position) (bool, bool) {
		connected := len(missed) == 2
		if !connected {
			missed = append(missed, p.Seq)
		}
		return connected, connected
	}
	found, err := s.Check(t.Context(), Flow)
	must.Do(t, err)
	if !strings.HasPrefix(found, "20 of 20 positions are in the database, each once, ") || !slices.Equal(missed, []int{1, 1}) {
		t.Errorf("missed positions %d, and then %s", missed, found)
	}
}

func TestReboot(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.Settings.Reboot.Seconds = 0 // the default
	found, err := s.Check(t.Context(), Reboot)
	must.Do(t, err)
	if !strings.Contains(found, "acknowledged positions are in the database, each once; prod-backend was away for ") || !strings.HasSuffix(found, "of which the broker had acknowledged and lost 0") {
		t.Errorf("got %s", found)
	}
	if !strings.Contains(s.said.String(), "prod-backend: away after ") {
		t.Errorf("it says %s", s.said)
	}
	soon.Wait(t, "the device disconnects", func() bool { return s.devices() == 0 })
	for name, c := range map[string]struct {
		change func(*system)
		want   string
	}{
		"a stored position is lost": {func(s *system) {
			s.Times.Store = 3 * time.Second
			cut := s.Cut
			s.Cut = func(ctx context.Context, host string) error {
				err := cut(ctx, host)
				s.lock.Lock()
				defer s.lock.Unlock()
				for device, rows := range s.rows {
					s.rows[device] = rows[1:] // which was acknowledged
				}
				return err
			}
		}, "positions of verify-"},
		"it does not come back": {func(s *system) {
			s.Settings.Reboot.Seconds = 1
			s.Cut = func(context.Context, string) error { s.powerCut(0); return nil }
		}, "the system is not back: "},
		"it stores nothing any more": {func(s *system) {
			var late atomic.Bool // once it is sure that nothing is stored, the time is over
			s.Now = func() time.Time {
				if late.Load() {
					return time.Now().Add(24 * time.Hour)
				}
				return time.Now()
			}
			s.Cut = func(context.Context, string) error {
				s.powerCut(2)
				s.lock.Lock()
				defer s.lock.Unlock()
				missed := 0
				s.mistake = func(Position) (bool, bool) {
					missed++
					late.Store(missed >= 3)
					return false, false
				}
				return nil
			}
		}, "the system was not back within 1h0m0s: it stores nothing that is published"},
		"the broker does not come back": {func(s *system) {
			s.Settings.Reboot.Seconds = 1
			s.Cut = func(context.Context, string) error { s.stopBroker(); return nil }
		}, "connect to the broker example.com:"},
		"nothing is rebooted": {func(s *system) {
			s.Settings.Reboot.Seconds = 1
			s.Cut = func(context.Context, string) error { return nil }
		}, "prod-backend was not rebooted, or it does not serve the broker: the connection to "},
		"it cannot be cut": {func(s *system) {
			s.Settings.Reboot.Seconds = 1
			s.Cut = func(context.Context, string) error { return fmt.Errorf("no power") }
		}, "reboot prod-backend: no power"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			c.change(s)
			if found, err := s.Check(t.Context(), Reboot); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %s, %v, want %s", found, err, c.want)
			}
		})
	}
}

// A device sends again what the broker had and lost, and what comes before the backend is connected to the broker again.
func TestRebootLoses(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	lost, cut, connected := make(chan struct{}), false, true
	missed := map[int]int{}
	s.mistake = func(p Position) (store, acknowledge bool) {
		switch {
		case !cut && p.Seq == 3:
			return false, false
		case !cut && p.Seq == 4: // so the broker has acknowledged position 3
			close(lost)
		case cut && !connected:
			missed[p.Seq]++
			connected = missed[p.Seq] == 2
		}
		return connected, connected
	}
	s.Cut = func(context.Context, string) error {
		<-lost
		s.powerCut(2)
		s.lock.Lock()
		defer s.lock.Unlock()
		cut, connected = true, false
		return nil
	}
	found, err := s.Check(t.Context(), Reboot)
	must.Do(t, err)
	if !strings.HasSuffix(found, "of which the broker had acknowledged and lost 1") || len(missed) < 2 {
		t.Errorf("missed %v, and then %s", missed, found)
	}
}

// A device publishes until it is stopped, knows how often it sent a position again, and sends in order.
func TestTracker(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	device, err := s.newTracker(t.Context(), *s.Settings.Flow, deviceName())
	must.Do(t, err)
	client, err := device.connect()
	must.Do(t, err)
	defer client.Disconnect(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.mistake = func(p Position) (store, acknowledge bool) {
		if p.Seq == 3 {
			cancel()
		}
		return true, p.Seq != 2
	}
	err = device.publishFor(ctx, client, time.Hour)
	if sent, again, _ := device.counts(); !errors.Is(err, context.Canceled) || sent < 3 || again != 0 {
		t.Errorf("%d are sent, %d again: %v", sent, again, err)
	}
	must.Do(t, device.resend(client))
	if _, again, _ := device.counts(); again < 1 {
		t.Errorf("position 2 is sent again %d times", again)
	}
	device = &tracker{sent: map[int]Position{}}
	for range 50 {
		p := device.next()
		device.sent[p.Seq] = p
	}
	if list := device.waiting(); len(list) != 50 || !slices.IsSortedFunc(list, func(a, b Position) int { return a.Seq - b.Seq }) {
		t.Errorf("got %v", list)
	}
}

// A position that nobody stores is sent again each second, until the patience ends.
func TestFirstAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &system{t: t, rows: map[string][]Position{}}
		s.startBroker()
		defer s.stopBroker()
		var times []time.Time
		s.mistake = func(Position) (store, acknowledge bool) {
			times = append(times, time.Now())
			return false, false
		}
		r, _, _ := testkit.Quiet(t, run.Command{Name: "verify"})
		r.Credentials = map[string]string{"PASSWORD": "password-of-the-tracker"}
		v := &Verifier{Run: r, Settings: &environment.Verify{}}
		device, err := v.newTracker(t.Context(), environment.FlowCheck{Broker: "example.com:8883", User: "tracker", Credential: "PASSWORD"}, deviceName())
		must.Do(t, err)
		device.options.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _ = s.broker.EstablishConnection("tls", theirs) }()
			return ours, nil
		})
		client, err := device.connect()
		must.Do(t, err)
		defer client.Disconnect(100)
		must.Fail(t, device.first(t.Context(), client, 10*time.Second), "was not acknowledged as stored within 10s")
		s.lock.Lock()
		defer s.lock.Unlock()
		if len(times) < 9 {
			t.Errorf("it is sent at %v", times)
		}
		for i, at := range times[1:] {
			if at.Sub(times[i]) < time.Second {
				t.Errorf("it is sent at %v", times)
				break
			}
		}
	})
}

// All the checks run, also after one that failed, and the result has each.
func TestAll(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.lostPath = "/api/positions/count"
	s.Times.Start = 100 * time.Millisecond
	err := s.All(t.Context(), []string{HTTPS, Flow})
	if err == nil || err.Error() != "1 of 2 checks failed: flow" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(s.said.String(), "https …") {
		t.Errorf("it says %s", s.said)
	}
	if n := len(s.Result.Checks); n != 2 || s.Result.Checks[0].Status != "passed" || s.Result.Checks[1].Status != "failed" {
		t.Errorf("got %+v", s.Result.Checks)
	}
	if text := s.Report.Masked(func(text string) string { return text }); !strings.HasPrefix(text, "https: passed: ") || !strings.Contains(text, "\nflow: failed: ") {
		t.Errorf("it says %s", text)
	}
	must.Do(t, s.All(t.Context(), []string{HTTPS}))

	// What cannot be checked at all ends it.
	s.Result.Checks = nil
	s.Credentials["PASSWORD"] = ""
	err = s.All(t.Context(), []string{Flow, HTTPS})
	must.Refuse(t, err, "have no PASSWORD", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.All(ctx, []string{HTTPS, HTTPS}); err == nil || strings.Contains(err.Error(), "checks failed") || len(s.Result.Checks) != 0 {
		t.Errorf("got %v, %+v", err, s.Result.Checks)
	}
}

// Each check is one that environment.yaml names. Those that disturb nobody are all but the reboot.
func TestNamed(t *testing.T) {
	https, flow, reboot := &environment.HTTPSCheck{}, &environment.FlowCheck{}, &environment.RebootCheck{}
	for name, c := range map[string]struct {
		settings        *environment.Verify
		named, harmless []string
	}{
		"all":   {&environment.Verify{HTTPS: https, Flow: flow, Reboot: reboot}, []string{HTTPS, Flow, Reboot}, []string{HTTPS, Flow}},
		"https": {&environment.Verify{HTTPS: https}, []string{HTTPS}, []string{HTTPS}},
		"flow":  {&environment.Verify{Flow: flow}, []string{Flow}, []string{Flow}},
		"cut":   {&environment.Verify{Reboot: reboot}, []string{Reboot}, nil},
		"none":  {&environment.Verify{}, nil, nil},
	} {
		if named, harmless := Named(c.settings), Harmless(c.settings); !slices.Equal(named, c.named) || !slices.Equal(harmless, c.harmless) {
			t.Errorf("%s: %q and %q", name, named, harmless)
		}
	}
	if harmless := Harmless(nil); len(harmless) > 0 {
		t.Errorf("without settings: %q", harmless)
	}
}

// A system that does not answer yet is asked again. One with a certificate that nobody should trust is
// not.
func TestHTTPSAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.lostPath, s.lostOnly = "/", 2
	_, err := s.Check(t.Context(), HTTPS)
	must.Do(t, err)
	s = newSystem(t)
	s.Settings.Roots, s.Times.Start = "", 24*time.Hour
	if _, err := s.Check(t.Context(), HTTPS); err == nil {
		t.Error("it passes")
	}
}

// A certificate that is valid for a few days more will do for as many, and not for the default.
func TestDaysLeft(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]string{0: "in less than 7 days", 2: "", 4: "in less than 4 days"} {
		s := newSystem(t)
		s.expiresIn(3*24*time.Hour + time.Hour)
		s.Settings.HTTPS.Days = days
		_, err := s.Check(t.Context(), HTTPS)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d days: %v", days, err)
		}
	}
}

// expiresIn gives the API another certificate, which the environment trusts.
func (s *system) expiresIn(d time.Duration) {
	s.t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must.Do(s.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"}, NotAfter: time.Now().Add(d), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	must.Do(s.t, err)
	s.web = httptest.NewUnstartedServer(s)
	s.web.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: private}}}
	s.web.StartTLS()
	s.t.Cleanup(s.web.Close)
	s.Settings.HTTPS.URL = s.url() + "/"
	must.Do(s.t, os.WriteFile(filepath.Join(s.Repository, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
}

// The trusted certificates come from a URL, too, and from there only if it has them.
func TestRootsByURL(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	status, asked := http.StatusOK, 0
	ca, err := os.ReadFile(filepath.Join(s.Repository, "ca.pem"))
	must.Do(t, err)
	roots := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(status)
		_, _ = w.Write(ca)
	}))
	s.Settings.Roots = roots.URL
	for range 2 {
		_, err = s.Check(t.Context(), HTTPS)
		must.Do(t, err)
	}
	if asked != 1 {
		t.Errorf("it is asked %d times", asked)
	}
	status, s.roots = http.StatusNotFound, nil
	if _, err := s.Check(t.Context(), HTTPS); err == nil || err.Error() != "read the certificates of verify.roots: 404 Not Found" {
		t.Errorf("got %v", err)
	}
	roots.Close()
	if _, err := s.Check(t.Context(), HTTPS); err == nil || !strings.Contains(err.Error(), "read the certificates of verify.roots") {
		t.Errorf("got %v", err)
	}
}

// A system gets a minute to come up, and as long to store what it was sent.
func TestTimes(t *testing.T) {
	if got := (&Verifier{}).times(); got != (Times{Start: time.Minute, Store: time.Minute, Around: 5 * time.Second}) {
		t.Errorf("got %+v", got)
	}
}

// The system is reached directly, or through the proxy of ssh.
func TestDial(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.Dial = nil
	address := s.web.Listener.Addr().String()
	connection, err := s.dial(t.Context(), "tcp", address)
	must.Do(t, err)
	must.Do(t, connection.Close())
	proxy := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(proxy.Close)
	s.Environment.SSH = &environment.SSH{Proxy: proxy.URL}
	if _, err := s.dial(t.Context(), "tcp", address); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("it does not ask the proxy: %v", err)
	}
}
