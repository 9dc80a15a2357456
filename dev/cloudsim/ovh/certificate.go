package ovh

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Certificates are what a cluster's connections are encrypted with. Each cluster has an authority
// of its own, as at OVH. The authority's key is not kept: it signs only once.
type Certificates struct {
	CA     string `json:"ca"` // all in PEM
	Server string `json:"server"`
	Key    string `json:"key"` // the server's
}

// The validity is longer than any simulated cluster lives.
const validity = 20 * 365 * 24 * time.Hour

func newCertificates(domain string, now time.Time) (Certificates, error) {
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificates{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificates{}, err
	}
	// The clock of whoever checks it may be slow.
	from, until := now.Add(-time.Hour), now.Add(validity)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cloudsim project CA"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: domain}, DNSNames: []string{domain}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, authority.Public(), authority)
	if err != nil {
		return Certificates{}, err
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil { // with the ID of its key
		return Certificates{}, err
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), authority)
	if err != nil {
		return Certificates{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return Certificates{text("CERTIFICATE", caDER), text("CERTIFICATE", serverDER), text("PRIVATE KEY", keyDER)}, err
}

// certify gives certificates to the clusters of a data folder that is older than they are.
func certify(tx *bolt.Tx) error {
	some, err := where(tx, func(k *cluster) bool { return k.Certificates.CA == "" })
	for _, k := range some {
		if err != nil {
			return err
		}
		if k.Certificates, err = newCertificates(k.domain(), time.Now()); err == nil {
			err = k.put(tx)
		}
	}
	return err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/certificates~GET
func (c *Cloud) showCertificates(q call) (any, error) {
	k, err := q.cluster()
	return map[string]string{"ca": k.Certificates.CA}, err
}
