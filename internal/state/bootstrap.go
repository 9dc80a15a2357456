package state

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"slipway/internal/fault"
)

// A Bootstrapped reports what Bootstrap found and did.
type Bootstrapped struct {
	Created  bool // the bucket was created
	Versions bool // the bucket keeps earlier versions
}

// Bootstrap creates the bucket if necessary, turns on versioning where the store supports it, and
// then probes the store. It is safe to repeat.
func (s *Store) Bootstrap(ctx context.Context) (Bootstrapped, error) {
	var done Bootstrapped
	input := &s3.CreateBucketInput{Bucket: &s.bucket}
	if region := s.client.Options().Region; region != "us-east-1" {
		input.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	if statusOf(err) == http.StatusNotFound {
		_, err = s.client.CreateBucket(ctx, input)
		done.Created = err == nil
		// Another bootstrap was faster, or the response to our own first try was lost.
		if codeOf(err) == "BucketAlreadyOwnedByYou" {
			err = nil
		}
	}
	if err != nil {
		return done, s.wrap("create the bucket", err)
	}
	err = s.enableVersions(ctx)
	if err != nil && codeOf(err) != "NotImplemented" && statusOf(err) != http.StatusNotImplemented {
		return done, err
	}
	done.Versions = err == nil
	return done, s.Probe(ctx)
}

// How many rounds and writers Probe uses to provoke two winners.
const (
	probeRounds  = 25
	probeWriters = 8
)

// Probe checks that the store can provide a lock: a second conditional write of an object must be
// refused, even when several arrive at the same time, and a read must return what was just written.
// A store that fails is refused, with the reason.
func (s *Store) Probe(ctx context.Context) error {
	prefix := "slipway-probe/" + rand.Text() + "/"
	for round := range probeRounds {
		key := fmt.Sprintf("%s%d", prefix, round)
		err := s.probeOnce(ctx, key)
		// Delete the probe's object even if the probe failed.
		if removed := s.remove(context.WithoutCancel(ctx), key); err == nil {
			err = removed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) probeOnce(ctx context.Context, key string) error {
	var won, failed int
	var winner string
	var failure error
	var lock sync.Mutex
	var group sync.WaitGroup
	for writer := range probeWriters {
		group.Go(func() {
			name := fmt.Sprint("writer ", writer)
			err := s.Create(ctx, key, []byte(name))
			for try := 1; errors.Is(err, ErrBusy) && try < claimTries; try++ {
				time.Sleep(claimPause)
				err = s.Create(ctx, key, []byte(name))
			}
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err == nil:
				won, winner = won+1, name
			case !errors.Is(err, ErrExists):
				failed, failure = failed+1, err
			}
		})
	}
	group.Wait()
	if failed > 0 {
		return failure
	}
	if won != 1 {
		return s.unsafe("let %d of %d concurrent writers create the same object", won, probeWriters)
	}
	if err := s.Create(ctx, key, nil); !errors.Is(err, ErrExists) {
		if err != nil {
			return err
		}
		return s.unsafe("let a conditional write overwrite an existing object")
	}
	got, err := s.read(ctx, key)
	if err != nil {
		return err
	}
	if string(got) != winner {
		return s.unsafe("did not return the content that was just written")
	}
	return nil
}

// unsafe returns the refusal of a store on which two concurrent applies could both believe that
// they hold the lock.
func (s *Store) unsafe(format string, args ...any) error {
	return fault.Refuse("set state.http to a backend with locks, or state.s3 to a store with conditional writes, in environment.yaml",
		"the store at %s cannot be used for locks: it %s", s.endpoint, fmt.Sprintf(format, args...))
}
