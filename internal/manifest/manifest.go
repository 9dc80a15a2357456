// Package manifest binds a sealed plan to the files, tools and state from which it was made. Only
// somebody who has the environment's passphrase can create a manifest.
package manifest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"slipway/internal/state"
)

// A Manifest is stored beside the sealed plan of one layer.
type Manifest struct {
	Version     int       `json:"version"` // 1
	RunID       string    `json:"run_id"`
	Environment string    `json:"environment"`
	Layer       string    `json:"layer"`
	Commit      string    `json:"commit,omitempty"` // the planned commit; a squash merge creates another one
	Base        string    `json:"base,omitempty"`   // the commit it is to be merged into
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires"`
	Plan        string    `json:"plan,omitempty"`  // Digest of plan.age
	After       string    `json:"after,omitempty"` // layer that must be applied before this one can be planned; if set, there is no plan
	Changes     bool      `json:"changes"`
	Losses      []string  `json:"losses,omitempty"` // addresses that are deleted, replaced or forgotten
	Bindings    Bindings  `json:"bindings"`
	MAC         string    `json:"mac"` // HMAC-SHA256, in hexadecimal digits
}

// Bindings are what must still be the same when the plan is applied.
type Bindings struct {
	Inputs   string                 `json:"inputs"` // digest of all files that OpenTofu could read
	Tools    map[string]string      `json:"tools"`  // digests of the programs
	Images   map[string]string      `json:"images,omitempty"`
	State    state.Stamp            `json:"state"`              // zero if there was none
	Upstream map[string]state.Stamp `json:"upstream,omitempty"` // states of the layers before this one
	LockFile string                 `json:"lock_file,omitempty"`
}

// Differs describes the first binding that has changed, or returns "".
func (b Bindings) Differs(now Bindings) string {
	for _, name := range union(b.Tools, now.Tools) {
		if b.Tools[name] != now.Tools[name] {
			return "the program " + name
		}
	}
	for _, name := range union(b.Images, now.Images) {
		if b.Images[name] != now.Images[name] {
			return "the image " + name
		}
	}
	if b.Inputs != now.Inputs {
		return "a file of the repository"
	}
	if b.State != now.State {
		return "the state"
	}
	for _, layer := range union(b.Upstream, now.Upstream) {
		if b.Upstream[layer] != now.Upstream[layer] {
			return "the state of layer " + layer
		}
	}
	if b.LockFile != now.LockFile {
		return "the lock file of the providers"
	}
	return ""
}

// union returns the sorted keys of both maps.
func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Digest returns the form of digest that is used everywhere here: "sha256:" and hexadecimal digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Seal writes the manifest with a MAC keyed by the environment's passphrase.
func Seal(m Manifest, passphrase string) ([]byte, error) {
	if passphrase == "" {
		return nil, errNoPassphrase
	}
	m.Version = 1
	m.MAC = ""
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	m.MAC = mac(body, passphrase)
	return encode(m)
}

// With an empty passphrase anybody could create a MAC.
var errNoPassphrase = errors.New("a manifest cannot be sealed without a passphrase")

// ErrChanged means that a manifest was altered or was sealed with another passphrase.
var ErrChanged = errors.New("the manifest was changed after it was sealed, or belongs to another environment's passphrase")

// Open reads a manifest that was sealed with one of the passphrases. A single changed byte is
// refused.
func Open(data []byte, passphrases ...string) (Manifest, error) {
	var m Manifest
	if json.Unmarshal(data, &m) != nil || m.Version != 1 {
		return Manifest{}, ErrChanged
	}
	// JSON has many spellings, and Unmarshal accepts them; only our own is accepted here. Whatever
	// was read from JSON can be encoded.
	if again, _ := encode(m); !bytes.Equal(again, data) {
		return Manifest{}, ErrChanged
	}
	unsigned := m
	unsigned.MAC = ""
	body, err := json.Marshal(unsigned)
	if err != nil {
		return Manifest{}, err
	}
	for _, passphrase := range passphrases {
		if passphrase != "" && hmac.Equal([]byte(m.MAC), []byte(mac(body, passphrase))) {
			return m, nil
		}
	}
	return Manifest{}, ErrChanged
}

func encode(m Manifest) ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	return append(data, '\n'), err
}

func mac(body []byte, passphrase string) string {
	h := hmac.New(sha256.New, []byte(passphrase))
	h.Write([]byte("slipway manifest\n"))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
