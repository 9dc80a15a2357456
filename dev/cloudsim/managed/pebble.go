package managed

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"slipway/dev/cloudsim/acme"
)

// Pebble's ports: that of the protocol, and that where it shows its root.
const (
	acmePort       = "14000"
	managementPort = "15000"
)

// pebble runs Pebble until ctx ends. It forgets accounts, orders and its root each time it starts;
// a client registers again, and cloudsim keeps the roots.
func (p *Player) pebble(ctx context.Context) {
	for ctx.Err() == nil {
		if err := p.onePebble(ctx); err != nil && ctx.Err() == nil {
			log.Printf("error: pebble: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// onePebble runs it until it ends.
func (p *Player) onePebble(ctx context.Context) error {
	resolver, err := p.resolver(ctx)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pebble-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the container ends soon, too
	certificate, key, err := acme.Issue(time.Now())
	if err != nil {
		return err
	}
	config, err := pebbleConfig(folder)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"config.json": config, "certificate.pem": certificate, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	output, err := os.OpenFile(filepath.Join(p.Data, logName), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pebble", "-config", filepath.Join(folder, "config.json"), "-dnsserver", resolver)
	// It neither waits before it validates, nor refuses nonces at random: both would only make
	// tests slower. Clients are tested with that by others.
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	go p.reportRoot(ctx)
	return cmd.Wait()
}

// pebbleConfig is what https://github.com/letsencrypt/pebble reads.
func pebbleConfig(folder string) (string, error) {
	text, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress":           ":" + acmePort,
		"managementListenAddress": ":" + managementPort,
		"certificate":             filepath.Join(folder, "certificate.pem"),
		"privateKey":              filepath.Join(folder, "key.pem"),
		"httpPort":                80,
		"tlsPort":                 443,
		"ocspResponderURL":        "",
	}})
	return string(text), err
}

// resolver is the address of cloudsim's name server.
func (p *Player) resolver(ctx context.Context) (string, error) {
	address, err := url.Parse(p.Cloud)
	if err != nil {
		return "", err
	}
	found, err := net.DefaultResolver.LookupHost(ctx, address.Hostname())
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(found[0], "53"), nil
}

// reportRoot sends cloudsim the root, as soon as Pebble shows it.
func (p *Player) reportRoot(ctx context.Context) {
	for {
		err := p.sendRoot(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *Player) sendRoot(ctx context.Context) error {
	trusted, err := acme.Root()
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(trusted)) {
		return errors.New("the root is not a certificate")
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: acme.Domain}, DisableKeepAlives: true,
	}}
	root, err := exchange(ctx, client, http.MethodGet, "https://127.0.0.1:"+managementPort+"/roots/0", nil)
	if err != nil {
		return err
	}
	_, err = exchange(ctx, client, http.MethodPost, p.Cloud+acme.BundlePath, root)
	return err
}

func exchange(ctx context.Context, client *http.Client, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return io.ReadAll(response.Body)
}
