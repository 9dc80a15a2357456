package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/wait"
)

// A Position is what a device publishes to positions/<device>.
type Position struct {
	Seq       int       `json:"seq"`
	Time      time.Time `json:"time"`
	Latitude  float64   `json:"latitude"`
	Longitude float64   `json:"longitude"`
}

// A tracker is a device. As every good one, it keeps a position until the system has acknowledged
// that it is stored, on acks/<device>, and sends it again after a connection was lost: the broker's
// own acknowledgement only says that the broker has it in memory.
type tracker struct {
	device  string
	options *mqtt.ClientOptions
	now     func() time.Time

	lock     sync.Mutex
	sent     map[int]Position
	received map[int]bool // acknowledged by the broker
	stored   map[int]bool // acknowledged by the system
	again    int          // positions that were sent more than once
}

// newTracker returns a device that is not connected yet.
func (v *Verifier) newTracker(ctx context.Context, c environment.FlowCheck, device string) (*tracker, error) {
	password := v.Credentials[c.Credential]
	if password == "" {
		return nil, fault.Refuse(v.SetCommand(c.Credential), "the credentials of %s have no %s, the MQTT password of %s", v.Env, c.Credential, c.User)
	}
	config, err := v.tls(ctx)
	if err != nil {
		return nil, err
	}
	if config.ServerName, _, err = net.SplitHostPort(c.Broker); err != nil {
		return nil, err
	}
	t := &tracker{device: device, now: v.now, sent: map[int]Position{}, received: map[int]bool{}, stored: map[int]bool{}}
	t.options = mqtt.NewClientOptions().
		AddBroker("ssl://" + c.Broker).SetClientID(device).SetUsername(c.User).SetPassword(password).
		SetTLSConfig(config).SetConnectTimeout(timeout).SetKeepAlive(5 * time.Second).SetPingTimeout(5 * time.Second).SetWriteTimeout(5 * time.Second).
		SetAutoReconnect(false).SetConnectRetry(false).SetCleanSession(true).SetOrderMatters(false).
		SetCustomOpenConnectionFn(func(broker *url.URL, options mqtt.ClientOptions) (net.Conn, error) {
			connection, err := v.dial(ctx, "tcp", broker.Host)
			if err != nil {
				return nil, err
			}
			return handshake(ctx, connection, options.TLSConfig)
		})
	return t, nil
}

// errNotAcknowledged means that the broker did not respond in time.
var errNotAcknowledged = errors.New("the broker does not respond")

// answers is how long the broker may take for one answer.
const answers = 10 * time.Second

func settled(token mqtt.Token) error {
	if !token.WaitTimeout(answers) {
		return errNotAcknowledged
	}
	return token.Error()
}

// connect connects to the broker and listens for acknowledgements.
func (t *tracker) connect() (mqtt.Client, error) {
	client := mqtt.NewClient(t.options)
	if err := settled(client.Connect()); err != nil {
		client.Disconnect(0)
		return nil, err
	}
	if err := settled(client.Subscribe("acks/"+t.device, 1, t.acknowledged)); err != nil {
		client.Disconnect(0)
		return nil, fmt.Errorf("subscribe to acks/%s: %w", t.device, err)
	}
	return client, nil
}

func (t *tracker) acknowledged(_ mqtt.Client, message mqtt.Message) {
	var ack struct {
		Seq int `json:"seq"`
	}
	if json.Unmarshal(message.Payload(), &ack) != nil {
		return
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if _, ours := t.sent[ack.Seq]; ours {
		t.stored[ack.Seq] = true
	}
}

// publish sends a position and waits for the broker to have it.
func (t *tracker) publish(client mqtt.Client, p Position) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	t.lock.Lock()
	if _, before := t.sent[p.Seq]; before {
		t.again++
	}
	t.sent[p.Seq] = p
	t.lock.Unlock()
	if err := settled(client.Publish("positions/"+t.device, 1, false, data)); err != nil {
		return err
	}
	t.lock.Lock()
	t.received[p.Seq] = true
	t.lock.Unlock()
	return nil
}

// next returns a position that was not sent before.
func (t *tracker) next() Position {
	t.lock.Lock()
	defer t.lock.Unlock()
	seq := len(t.sent) + 1
	return Position{Seq: seq, Time: time.Now().UTC().Truncate(time.Millisecond), Latitude: 47.2 + float64(seq)/1e5, Longitude: -1.5}
}

// waiting returns the positions that are not stored as far as the device knows, in order.
func (t *tracker) waiting() []Position {
	t.lock.Lock()
	defer t.lock.Unlock()
	var list []Position
	for seq, p := range t.sent {
		if !t.stored[seq] {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Position) int { return a.Seq - b.Seq })
	return list
}

// counts returns how many positions were sent, had to be sent again, and are stored.
func (t *tracker) counts() (sent, again, stored int) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return len(t.sent), t.again, len(t.stored)
}

// resend publishes again what is not stored as far as the device knows.
func (t *tracker) resend(client mqtt.Client) error {
	for _, p := range t.waiting() {
		if err := t.publish(client, p); err != nil {
			return fmt.Errorf("publish again: %w", err)
		}
	}
	return nil
}

// errPatience means that the system did not store what was published in time.
var errPatience = errors.New("the patience is over")

// repeat waits until enough is stored, and after each pause it publishes again what is not. A broker takes what is
// published while nothing that stores it is connected, and nobody gets it.
func (t *tracker) repeat(ctx context.Context, client mqtt.Client, pause, patience time.Duration, enough func() bool) error {
	for end, again := t.now().Add(patience), time.Now().Add(pause); !enough(); {
		if t.now().After(end) {
			return errPatience
		}
		if time.Now().After(again) {
			if err := t.resend(client); err != nil {
				return err
			}
			again = time.Now().Add(pause)
		}
		if err := wait.For(ctx, 50*time.Millisecond); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (t *tracker) allStored() bool { return len(t.waiting()) == 0 }

// first publishes the first position until it is stored: before that, the system is not ready for more.
func (t *tracker) first(ctx context.Context, client mqtt.Client, patience time.Duration) error {
	if err := t.publish(client, t.next()); err != nil {
		return fmt.Errorf("publish the first position: %w", err)
	}
	err := t.repeat(ctx, client, time.Second, patience, t.allStored)
	if errors.Is(err, errPatience) {
		return fmt.Errorf("the first position of %s was not acknowledged as stored within %s: nothing that stores positions is connected to the broker", t.device, patience)
	}
	return err
}

// drain waits until all positions are stored.
func (t *tracker) drain(ctx context.Context, client mqtt.Client, patience time.Duration) error {
	err := t.repeat(ctx, client, patience/3, patience, t.allStored)
	if errors.Is(err, errPatience) {
		sent, _, stored := t.counts()
		return fmt.Errorf("%d of %d positions of %s were acknowledged as stored within %s", stored, sent, t.device, patience)
	}
	return err
}
