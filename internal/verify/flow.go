package verify

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"slipway/internal/environment"
)

// handshake adds TLS to a connection.
func handshake(ctx context.Context, connection net.Conn, config *tls.Config) (net.Conn, error) {
	secure := tls.Client(connection, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return secure, nil
}

// deviceName is new each time, so that no earlier run's positions count.
func deviceName() string { return "verify-" + strings.ToLower(rand.Text()[:10]) }

// flow publishes positions and finds all of them in the database, and the newest one in the API.
func (v *Verifier) flow(ctx context.Context, c environment.FlowCheck) (string, error) {
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
	defer client.Disconnect(100)
	if err := t.first(ctx, client, v.times().Start); err != nil {
		return "", err
	}
	n := c.Positions
	if n == 0 {
		n = defaultPositions
	}
	begin := time.Now()
	for range n - 1 {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err := t.publish(client, t.next()); err != nil {
			return "", fmt.Errorf("publish to the broker %s: %w", c.Broker, err)
		}
	}
	if err := t.drain(ctx, client, v.times().Store); err != nil {
		return "", err
	}
	if err := v.found(ctx, api, c, t); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of %d positions are in the database, each once, %.1f s after the first was stored", n, n, time.Since(begin).Seconds()), nil
}

const defaultPositions = 100

// found compares what the API has of a device with what the device knows to be stored.
func (v *Verifier) found(ctx context.Context, api *http.Client, c environment.FlowCheck, t *tracker) error {
	sent, _, _ := t.counts()
	var count struct{ Count, Distinct int }
	if err := v.ask(ctx, api, c.API+"/positions/count?device="+url.QueryEscape(t.device), &count); err != nil {
		return err
	}
	if count.Count != sent || count.Distinct != sent {
		return fmt.Errorf("the database has %d positions of %s, %d of them different, instead of %d", count.Count, t.device, count.Distinct, sent)
	}
	seqs, err := v.seqs(ctx, api, c, t)
	if err != nil {
		return err
	}
	for seq := 1; seq <= sent; seq++ {
		if seqs[seq] != 1 {
			return fmt.Errorf("the API has position %d of %s %d times instead of once", seq, t.device, seqs[seq])
		}
	}
	return nil
}

// seqs counts the positions of a device in the API, by their number.
func (v *Verifier) seqs(ctx context.Context, api *http.Client, c environment.FlowCheck, t *tracker) (map[int]int, error) {
	var list []Position
	err := v.ask(ctx, api, fmt.Sprintf("%s/positions/%s?limit=10000", c.API, url.PathEscape(t.device)), &list)
	seqs := map[int]int{}
	for _, p := range list {
		seqs[p.Seq]++
	}
	return seqs, err
}
