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
