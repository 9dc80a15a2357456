package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// A Lock is what OpenTofu writes beside a state while it works on it.
type Lock struct {
	ID        string
	Operation string // such as OperationTypeApply
	Who       string // user@host of the holder; the host is the container of one run
	Version   string // of OpenTofu
	Created   time.Time
	Path      string
}

// ReadLock returns the lock of the state at key, or nil if nobody holds it.
func (s *Store) ReadLock(ctx context.Context, key string) (*Lock, error) {
	data, err := s.read(ctx, key+".tflock")
	var none *types.NoSuchKey
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lock Lock
	if err := json.Unmarshal(data, &lock); err != nil || lock.ID == "" {
		return nil, fmt.Errorf("the lock of %s in bucket %s is not one of OpenTofu's", key, s.bucket)
	}
	return &lock, nil
}

// Unlock takes away the lock of that ID and no other.
func (s *Store) Unlock(ctx context.Context, key, id string) error {
	lock, err := s.ReadLock(ctx, key)
	if err != nil || lock == nil {
		return err
	}
	if lock.ID != id {
		return fmt.Errorf("the lock of %s has changed hands: it is now %s, held by %s", key, lock.ID, lock.Who)
	}
	return s.remove(ctx, key+".tflock")
}

// Lock takes the lock of the state at key as OpenTofu does, so that each keeps
// the other out. It returns the lock that was in the way, if there was one.
func (s *Store) Lock(ctx context.Context, key string, lock Lock) (*Lock, error) {
	data, err := json.Marshal(lock)
	if err != nil {
		return nil, err
	}
	err = s.Create(ctx, key+".tflock", data)
	if !errors.Is(err, ErrExists) {
		return nil, err
	}
	return s.ReadLock(ctx, key)
}
