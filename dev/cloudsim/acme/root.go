// Package acme has the certificates of the ACME server that stands in for Let's Encrypt, which is
// Pebble.
package acme

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// Domain is the name of the ACME server.
const Domain = "acme.cloudsim.test"

// zone contains all names for which the root can vouch.
const zone = "cloudsim.test"

// root is the certificate of the authority that issued the ACME server's own certificate, and its
// key. It is always the same, so that it can be written into a server's configuration. Its key
// follows from this source, so it is not a secret: the certificate is limited to names that exist in
// no other place.
func root() (*x509.Certificate, ed25519.PrivateKey, error) {
	seed := sha256.Sum256([]byte("cloudsim: root of acme.cloudsim.test, version 1"))
	key := ed25519.NewKeyFromSeed(seed[:])
	public := key.Public().(ed25519.PublicKey)
	id := sha256.Sum256(public)
	template := &x509.Certificate{
		SerialNumber:                big.NewInt(1),
		Subject:                     pkix.Name{CommonName: "cloudsim: root of " + Domain},
		NotBefore:                   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:                    time.Date(2046, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA:                        true,
		BasicConstraintsValid:       true,
		MaxPathLenZero:              true,
		KeyUsage:                    x509.KeyUsageCertSign,
		SubjectKeyId:                id[:20], // Go's own choice differs between its versions
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{zone},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key) // such a signature needs no random number
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return certificate, key, err
}

// Root returns that authority's certificate in PEM.
func Root() (string, error) {
	certificate, _, err := root()
	if err != nil {
		return "", err
	}
	return encode("CERTIFICATE", certificate.Raw), nil
}

// Issue returns a new certificate for Domain and its key, in PEM.
func Issue(now time.Time) (certificate, key string, err error) {
	parent, signer, err := root()
	if err != nil {
		return "", "", err
	}
	// Not every client takes an ed25519 key from a server.
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return "", "", err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: Domain}, DNSNames: []string{Domain},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, parent, own.Public(), signer)
	if err != nil {
		return "", "", err
	}
	ownDER, err := x509.MarshalPKCS8PrivateKey(own)
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", ownDER), err
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
