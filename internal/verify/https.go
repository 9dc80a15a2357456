package verify

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"slipway/internal/environment"
)

// https checks that the URL answers with 200, by a certificate of a trusted authority that is valid
// for its name and does not expire soon.
func (v *Verifier) https(ctx context.Context, c environment.HTTPSCheck) (string, error) {
	client, err := v.client(ctx)
	if err != nil {
		return "", err
	}
	response, err := v.get(ctx, client, c.URL)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers with %s", c.URL, response.Status)
	}
	certificate := response.TLS.PeerCertificates[0]
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

func issuer(name string) string {
	if name == "" {
		return "an authority without a name"
	}
	return name
}
