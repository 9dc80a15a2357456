package state

import (
	"context"
	"encoding/json"

	"slipway/internal/fault"
)

// A Stamp is what can be read from an encrypted state without its key.
type Stamp struct {
	Serial  uint64 `json:"serial"`
	Lineage string `json:"lineage"`
}

// ReadStamp reads the stamp of an encrypted state. It refuses data that is not JSON or not
// encrypted; name is used in the message.
func ReadStamp(name string, data []byte) (Stamp, error) {
	var sealed struct {
		Stamp
		Data string `json:"encrypted_data"`
	}
	if err := json.Unmarshal(data, &sealed); err != nil {
		return Stamp{}, fault.Refuse("put an earlier version of it back, from the bucket's versions",
			"%s is damaged: its %d bytes are not a state", name, len(data))
	}
	if sealed.Data == "" {
		return Stamp{}, fault.Refuse("keep it under another key and import its resources: see docs/state.md", "%s is not encrypted", name)
	}
	return sealed.Stamp, nil
}

// Stamp reads the stamp of the state at key, which must be complete and encrypted. It returns
// ErrNone if there is no state.
func (s *Store) Stamp(ctx context.Context, key string) (Stamp, error) {
	data, err := s.Read(ctx, key)
	if err != nil {
		return Stamp{}, err
	}
	return ReadStamp("the state "+key+" in "+s.Name(), data)
}
