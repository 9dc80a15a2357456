package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// Recipients returns the age recipients of the SOPS file called name.
func Recipients(name string, data []byte) ([]string, error) {
	tree, err := load(name, data)
	if err != nil {
		return nil, err
	}
	return recipients(tree), nil
}

// Envelope encrypts data to age recipients, in age's own format.
func Envelope(data []byte, to []string) ([]byte, error) {
	var keys []age.Recipient
	for _, text := range to {
		parsed, err := age.ParseRecipients(bytes.NewReader([]byte(text)))
		if err != nil {
			return nil, fmt.Errorf("%q is not an age recipient", text)
		}
		keys = append(keys, parsed...)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no age recipient to encrypt to")
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, keys...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return sealed.Bytes(), nil
}

// ErrOthers means that something is sealed, but not to this identity. Damage can look like that.
var ErrOthers = errors.New("it is not encrypted to this age identity, or it is damaged")

// Open decrypts what Envelope encrypted.
func (i Identity) Open(sealed []byte) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), i.age...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, ErrOthers
	}
	if err != nil {
		return nil, errors.New("it is damaged")
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, errors.New("it is damaged")
	}
	return data, nil
}
