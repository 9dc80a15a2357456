package acme

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
)

// BundlePath serves the bundle. It is not a valid bucket name.
const BundlePath = "/-/acme/roots"

// A Bundle is a file with all roots that the ACME server has ever issued certificates with: it
// creates another one each time it starts, and a certificate outlives that.
type Bundle struct {
	mu   sync.Mutex
	Path string
}

// ServeHTTP returns the bundle, or adds the root in the body to it.
func (b *Bundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var text []byte
	var err error
	if r.Method == http.MethodPost {
		text, err = io.ReadAll(io.LimitReader(r.Body, 1<<16))
		if err == nil {
			err = b.add(text)
		}
	}
	if errors.Is(err, errForm) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err == nil {
		text, err = b.read()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, _ = w.Write(text) // the client may be gone
}

func (b *Bundle) read() ([]byte, error) {
	text, err := os.ReadFile(b.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

var errForm = errors.New("that is not one certificate in PEM")

func (b *Bundle) add(text []byte) error {
	block, rest := pem.Decode(text)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return errForm
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return errForm
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all, err := b.read()
	if err != nil {
		return err
	}
	one := pem.EncodeToMemory(block)
	if bytes.Contains(all, one) {
		return nil
	}
	// By one rename, so that a power cut leaves the old bundle or the new one.
	if err := os.WriteFile(b.Path+".new", append(all, one...), 0o600); err != nil {
		return err
	}
	return os.Rename(b.Path+".new", b.Path)
}
