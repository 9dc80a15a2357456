package verify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"slipway/internal/environment"
	"slipway/internal/wait"
)

// https checks that the URL answers with 200, by a certificate of a trusted authority that is valid
// for its name and does not expire soon.
func (v *Verifier) https(ctx context.Context, c environment.HTTPSCheck) (string, error) {
	client, err := v.client(ctx)
	if err != nil {
		return "", err
	}
	certificate, err := v.certificate(ctx, client, c.URL)
	for end := time.Now().Add(v.times().Start); err != nil && time.Now().Before(end) && !final(err); {
		if err := wait.For(ctx, time.Second); err != nil {
			return "", err
		}
		certificate, err = v.certificate(ctx, client, c.URL)
	}
	if err != nil {
		return "", err
	}
	days := c.Days
	if days == 0 {
		days = defaultDays
	}
	left := time.Until(certificate.NotAfter)
	if left < time.Duration(days)*24*time.Hour {
		return "", fmt.Errorf("the certificate of %s expires on %s, in less than %d days", c.URL, certificate.NotAfter.UTC().Format(time.DateOnly), days)
	}
	return fmt.Sprintf("%s answers with 200; its certificate from %s is valid until %s", c.URL, issuer(certificate.Issuer.CommonName), certificate.NotAfter.UTC().Format(time.DateOnly)), nil
}

const defaultDays = 7

// certificate returns that of a URL that answers with 200.
func (v *Verifier) certificate(ctx context.Context, client *http.Client, url string) (*x509.Certificate, error) {
	response, err := v.get(ctx, client, url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	if to := response.Header.Get("Location"); to != "" {
		return nil, fmt.Errorf("%s answers with %s, to %s: name that URL in verify.https.url", url, response.Status, to)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers with %s", url, response.Status)
	}
	return response.TLS.PeerCertificates[0], nil
}

// final reports whether waiting does not help: the system answers, but nobody should trust it.
func final(err error) bool {
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	return bad
}

func issuer(name string) string {
	if name == "" {
		return "an authority without a name"
	}
	return name
}
