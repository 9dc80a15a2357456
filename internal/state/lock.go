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
	ID        string // of one holder; no other has it
	Operation string // such as OperationTypeApply
	Info      string
	Who       string // user@host of the holder; of a run of this program, slipway@ and the run's ID
	Version   string // of OpenTofu
	Created   time.Time
	Path      string
}

// NewLock is a lock of a run of this program on the state at key, by an ID that is
// known before it is taken.
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
		return nil, fmt.Errorf("the lock of %s in bucket %s is not one of OpenTofu's", key, s.bucket)
	}
	return &lock, nil
}

// A LockChangedError says that a lock that was to be taken away is another's by now.
type LockChangedError struct {
	Key  string
	Lock Lock
}

func (e *LockChangedError) Error() string {
	return fmt.Sprintf("the lock of %s has changed hands: it is now %s, held by %s", e.Key, e.Lock.ID, e.Lock.Who)
}

// Unlock takes away the lock of that ID and no other; it is no error if there is none.
// An S3 store knows no conditional delete, so only the lock's holder may call it, or
// one who has made sure that nobody else can be about to take the lock.
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

// Lock takes the lock of the state at key as OpenTofu does, so that each keeps the
// other out. Without an error, the lock is ours, or it is the one that is returned.
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
