package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// S3 says where a bucket is and which credentials to use.
type S3 struct {
	Bucket    string
	Endpoint  string // URL; used with path-style addresses, which every store supports
	Region    string
	AccessKey string
	SecretKey string
	Timeout   time.Duration     // per request; 0 means 30 s
	Transport http.RoundTripper // for tests; nil means the network
}

// requestTimeout bounds one request, including its response; the largest object is a state. Callers
// need an error when a store hangs.
const requestTimeout = 30 * time.Second

// A Store is the bucket that contains an environment's states.
type Store struct {
	bucket   string
	endpoint string
	client   *s3.Client
	// once never retries: the response to a repeated conditional write would be about the first
	// attempt.
	once *s3.Client
}

// Open returns a client. It does not connect yet.
func Open(c S3) *Store {
	timeout := cmp.Or(c.Timeout, requestTimeout)
	var bounded s3.HTTPClient = awshttp.NewBuildableClient().WithTimeout(timeout)
	if c.Transport != nil {
		bounded = &http.Client{Transport: c.Transport, Timeout: timeout}
	}
	client := func(attempts int) *s3.Client {
		return s3.New(s3.Options{
			HTTPClient:       bounded,
			BaseEndpoint:     aws.String(c.Endpoint),
			Region:           c.Region,
			UsePathStyle:     true,
			Credentials:      credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, ""),
			RetryMaxAttempts: attempts,
			// Stores other than Amazon's reject checksums that they do not know.
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
			ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		})
	}
	host := c.Endpoint
	if u, err := url.Parse(c.Endpoint); err == nil {
		host = u.Host
	}
	return &Store{bucket: c.Bucket, endpoint: host, client: client(3), once: client(1)}
}

// ErrExists is returned when an object that must be new already exists.
var ErrExists = errors.New("the object already exists")

// ErrBusy is returned when another conditional write of the object is in progress. The request has
// to be sent again. https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
var ErrBusy = errors.New("another write of the object is in progress")

// Name returns the store's name for messages.
func (s *Store) Name() string { return fmt.Sprintf("bucket %s at %s", s.bucket, s.endpoint) }

// ErrNone means that the object, or even the bucket, does not exist.
var ErrNone = errors.New("the object does not exist")

// Read returns an object's content, or ErrNone.
func (s *Store) Read(ctx context.Context, key string) ([]byte, error) {
	data, err := s.read(ctx, key)
	if statusOf(err) == http.StatusNotFound {
		return nil, ErrNone
	}
	return data, err
}

// Write writes an object and overwrites an existing one.
func (s *Store) Write(ctx context.Context, key string, data []byte) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data)})
	return s.wrap("write "+key, err)
}

// Remove deletes an object. It is not an error if there is none.
func (s *Store) Remove(ctx context.Context, key string) error { return s.remove(ctx, key) }

// An Object is a list entry.
type Object struct {
	Key string
	Age time.Duration // time since it was written, by the store's clock, in whole seconds
}

// List returns the objects whose keys begin with prefix, sorted by key.
func (s *Store) List(ctx context.Context, prefix string) ([]Object, error) {
	var objects []Object
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if statusOf(err) == http.StatusNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, s.wrap("list "+prefix, err)
		}
		now, ok := middleware.GetServerTime(page.ResultMetadata)
		if !ok {
			now = time.Now()
		}
		for _, o := range page.Contents {
			objects = append(objects, Object{Key: aws.ToString(o.Key), Age: now.Sub(aws.ToTime(o.LastModified))})
		}
	}
	return objects, nil
}

// Create writes an object that must not exist yet, with a single request. It returns ErrExists if
// it exists, and ErrBusy if that is still undecided.
func (s *Store) Create(ctx context.Context, key string, data []byte) error {
	_, err := s.once.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data), IfNoneMatch: aws.String("*"),
	})
	switch statusOf(err) {
	case http.StatusPreconditionFailed:
		return ErrExists
	case http.StatusConflict:
		return ErrBusy
	}
	return s.wrap("write "+key, err)
}

const (
	claimTries = 6
	claimPause = 100 * time.Millisecond // before the second try; doubles each time
)

// Claim creates an object whose content nobody else writes, for example because it contains an ID.
// If it returns neither an error nor the content of somebody else, the object is ours: created by
// this call or, if a response was lost, by an earlier request of this call. After an error the
// owner is unknown.
func (s *Store) Claim(ctx context.Context, key string, data []byte) (other []byte, err error) {
	pause := claimPause
	for try := 1; ; try++ {
		err = s.Create(ctx, key, data)
		if err == nil {
			return nil, nil
		}
		if !errors.Is(err, ErrBusy) {
			got, readErr := s.Read(ctx, key)
			if readErr == nil {
				if bytes.Equal(got, data) {
					return nil, nil
				}
				return got, nil
			}
			if !errors.Is(readErr, ErrNone) {
				return nil, errors.Join(err, readErr)
			}
			// The previous holder has just released it, or our request never arrived.
		}
		if try == claimTries {
			return nil, fmt.Errorf("create %s in %s: gave up after %d tries: %w", key, s.Name(), try, err)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// read returns an object's content.
func (s *Store) read(ctx context.Context, key string) ([]byte, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, s.wrap("read "+key, err)
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}

// remove deletes an object. It is not an error if there is none.
func (s *Store) remove(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	return s.wrap("delete "+key, err)
}

func (s *Store) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in bucket %s at %s: %w", what, s.bucket, s.endpoint, err)
}

// statusOf returns the HTTP status that caused err, or 0.
func statusOf(err error) int {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// codeOf returns the store's error code for err, or "".
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// enableVersions turns on versioning for the bucket.
func (s *Store) enableVersions(ctx context.Context) error {
	_, err := s.client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket:                  &s.bucket,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	return s.wrap("turn on versioning", err)
}
