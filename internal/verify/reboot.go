package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"slipway/internal/environment"
	"slipway/internal/wait"
)

const (
	// interval is the time between two positions.
	interval = 50 * time.Millisecond
	// noticed is how long the connection may hold after the power was cut.
	noticed = 2 * time.Minute
	// defaultWithin is how long the system may be away.
	defaultWithin = 10 * time.Minute
)

// reboot publishes all the time while the host is rebooted, and then finds every position in the
// database, once.
func (v *Verifier) reboot(ctx context.Context, c environment.FlowCheck, r environment.RebootCheck) (string, error) {
	within := defaultWithin
	if r.Seconds > 0 {
		within = time.Duration(r.Seconds) * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within+2*v.times().Around+2*v.times().Store, fmt.Errorf("the system was not back within %s", within))
	defer cancel()
	t, err := v.newTracker(ctx, c, deviceName())
	if err != nil {
		return "", err
	}
	api, err := v.client(ctx)
	if err != nil {
		return "", err
	}
	client, err := t.reconnect(ctx, v.now().Add(v.times().Start))
	if err != nil {
		return "", fmt.Errorf("connect to the broker %s: %w", c.Broker, err)
	}
	defer func() {
		if client != nil {
			client.Disconnect(100)
		}
	}()

	if err := t.first(ctx, client, v.times().Start); err != nil {
		return "", err
	}
	if err := t.publishFor(ctx, client, v.times().Around); err != nil {
		return "", fmt.Errorf("before the reboot: %w", err)
	}
	cut := make(chan error, 1)
	begin := v.now()
	go func() { cut <- v.Cut(ctx, r.Host) }()
	// Until the connection breaks: the cut hits the middle of the stream.
	broken := t.publishFor(ctx, client, min(within, noticed))
	if err := <-cut; err != nil {
		return "", fmt.Errorf("reboot %s: %w", r.Host, err)
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if broken == nil {
		return "", fmt.Errorf("%s was not rebooted, or it does not serve the broker: the connection to %s held for %s", r.Host, c.Broker, min(within, noticed))
	}
	v.Say("%s: away after %.1f s; waiting for it", r.Host, v.now().Sub(begin).Seconds())
	client.Disconnect(0)

	if err := v.awaitAPI(ctx, api, c, begin.Add(within)); err != nil {
		return "", err
	}
	lost, err := v.lostByBroker(ctx, api, c, t)
	if err != nil {
		return "", err
	}
	if client, err = t.reconnect(ctx, begin.Add(within)); err != nil {
		return "", fmt.Errorf("connect to the broker %s again: %w", c.Broker, err)
	}
	before := t.storedNow()
	if err := t.resend(client); err != nil {
		return "", err
	}
	if err := t.publish(client, t.next()); err != nil {
		return "", err
	}
	err = t.repeat(ctx, client, time.Second, begin.Add(within).Sub(v.now()), func() bool { return t.storedNow() > before })
	if errors.Is(err, errPatience) {
		return "", fmt.Errorf("the system was not back within %s: it stores nothing that is published", within)
	}
	if err != nil {
		return "", err
	}
	away := v.now().Sub(begin)
	if err := t.publishFor(ctx, client, v.times().Around); err != nil {
		return "", fmt.Errorf("after the reboot: %w", err)
	}
	if err := t.drain(ctx, client, v.times().Store); err != nil {
		return "", err
	}
	if err := v.found(ctx, api, c, t); err != nil {
		return "", err
	}
	sent, again, stored := t.counts()
	return fmt.Sprintf("%d of %d acknowledged positions are in the database, each once; %s was away for %.1f s; %d were sent again, of which the broker had acknowledged and lost %d",
		stored, sent, r.Host, away.Seconds(), again, lost), nil
}

// publishFor publishes until the time is over, and ends early when the connection breaks.
func (t *tracker) publishFor(ctx context.Context, client mqtt.Client, d time.Duration) error {
	for end := t.now().Add(d); t.now().Before(end); {
		if err := t.publish(client, t.next()); err != nil {
			return err
		}
		if !client.IsConnectionOpen() {
			return errNotAcknowledged
		}
		if err := wait.For(ctx, interval); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracker) storedNow() int { _, _, stored := t.counts(); return stored }

// awaitAPI waits until the system is ready again.
func (v *Verifier) awaitAPI(ctx context.Context, api *http.Client, c environment.FlowCheck, end time.Time) error {
	for {
		var any []Position
		err := v.ask(ctx, api, c.API+"/positions?limit=1", &any)
		if err == nil {
			return nil
		}
		if v.now().After(end) {
			return fmt.Errorf("the system is not back: %w", err)
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return context.Cause(ctx)
		}
	}
}

// lostByBroker counts the positions that the broker alone had acknowledged and that are not in the
// database: those that a device would lose if it did not wait for acks/<device>. What the broker kept
// gets the time to arrive.
func (v *Verifier) lostByBroker(ctx context.Context, api *http.Client, c environment.FlowCheck, t *tracker) (lost int, err error) {
	for range 10 {
		seqs, err := v.seqs(ctx, api, c, t)
		if err != nil {
			return 0, err
		}
		lost = 0
		t.lock.Lock()
		for seq := range t.received {
			if seqs[seq] == 0 {
				lost++
			}
		}
		t.lock.Unlock()
		if lost == 0 {
			return 0, nil
		}
		if err := wait.For(ctx, 300*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return lost, nil
}

func (t *tracker) reconnect(ctx context.Context, end time.Time) (mqtt.Client, error) {
	for {
		client, err := t.connect()
		if err == nil || t.now().After(end) {
			return client, err
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return nil, context.Cause(ctx)
		}
	}
}
