package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Lock is what OpenTofu writes beside a state while it works on it.
type Lock struct {
	ID        string // unique to one holder
	Operation string // such as OperationTypeApply
	Info      string
	Who       string // user@host of the holder, or slipway@<run ID> for a run of Slipway
	Version   string // version of OpenTofu
	Created   time.Time
	Path      string
}

// NewLock returns a lock for a run of Slipway on the state at key. Its ID is known before the lock
// is taken.
func (s *Store) NewLock(key, id, operation, run string, now time.Time) Lock {
	return Lock{ID: id, Operation: operation, Who: "slipway@" + run, Created: now.UTC(), Path: s.bucket + "/" + key}
}

func lockKey(key string) string { return key + ".tflock" }

// ReadLock returns the lock of the state at key, or nil if nobody holds it.
func (s *Store) ReadLock(ctx context.Context, key string) (*Lock, error) {
	data, err := s.Read(ctx, lockKey(key))
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.parseLock(key, data)
}

func (s *Store) parseLock(key string, data []byte) (*Lock, error) {
	var lock Lock
	if err := json.Unmarshal(data, &lock); err != nil || lock.ID == "" {
		return nil, fmt.Errorf("the lock of %s in bucket %s is not an OpenTofu lock", key, s.bucket)
	}
	return &lock, nil
}

// A LockChangedError means that the lock to be removed now belongs to somebody else.
type LockChangedError struct {
	Key  string
	Lock Lock
}

func (e *LockChangedError) Error() string {
	return fmt.Sprintf("the lock of %s has changed hands: it is now %s, held by %s", e.Key, e.Lock.ID, e.Lock.Who)
}

// Unlock removes the lock with that ID and no other. It is not an error if there is none. S3 has no
// conditional delete, so only the lock's holder may call Unlock, or a caller that has ensured that
// nobody else can be about to take the lock.
func (s *Store) Unlock(ctx context.Context, key, id string) error {
	lock, err := s.ReadLock(ctx, key)
	if lock == nil {
		return err
	}
	if lock.ID != id {
		return &LockChangedError{key, *lock}
	}
	return s.remove(ctx, lockKey(key))
}

// Lock takes the lock of the state in the same way as OpenTofu, so that each keeps the other out.
// Without an error, either the lock is ours or the current lock is returned.
func (s *Store) Lock(ctx context.Context, key string, lock Lock) (other *Lock, err error) {
	data, err := json.Marshal(lock)
	if err != nil {
		return nil, err
	}
	theirs, err := s.Claim(ctx, lockKey(key), data)
	if theirs == nil {
		return nil, err
	}
	return s.parseLock(key, theirs)
}
