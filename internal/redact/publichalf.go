package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"
)

// publicHalf returns where a private key spells its public half. The same characters are in
// known_hosts and authorized_keys, and do not start a match. meant is the key's meaning.
func publicHalf(value string, meant []byte) (spans []span) {
	for _, text := range publicTexts(value) {
		all, _ := meaning(text)
		for at := 0; len(all) >= piece; {
			i := bytes.Index(meant[at:], all)
			if i < 0 {
				break
			}
			at += i
			// The characters beside it can agree by chance: one of them shares its bits with the key.
			const beside = 3
			spans = append(spans, span{at - beside, at + len(all) + beside})
			at += len(all)
		}
	}
	return spans
}

// publicTexts returns the base64 of a private key's public half, and of each of its fields: the private
// half repeats them in another order.
func publicTexts(value string) (texts []string) {
	if !strings.HasPrefix(value, "-----BEGIN ") || !strings.Contains(value, "PRIVATE KEY-----") {
		return nil
	}
	var public ssh.PublicKey
	var locked *ssh.PassphraseMissingError
	signer, err := ssh.ParsePrivateKey([]byte(value))
	switch {
	case err == nil:
		public = signer.PublicKey()
	case errors.As(err, &locked) && locked.PublicKey != nil:
		public = locked.PublicKey
	default:
		return nil
	}
	whole := public.Marshal()
	texts = cores64(base64.StdEncoding, string(whole))
	for rest := whole; len(rest) > 4; {
		n := int(binary.BigEndian.Uint32(rest))
		texts = append(texts, cores64(base64.StdEncoding, string(rest[4:4+n]))...)
		rest = rest[4+n:]
	}
	return texts
}
