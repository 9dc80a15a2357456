package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// S3 says where a bucket is and who may use it.
type S3 struct {
	Bucket    string
	Endpoint  string // URL; path-style addresses are used, which every store knows
	Region    string
	AccessKey string
	SecretKey string
}

// A Store is the bucket that holds an environment's states.
type Store struct {
	bucket   string
	endpoint string
	client   *s3.Client
	// once never repeats a request: the answer to a repeated conditional write
	// would be about the first.
	once *s3.Client
}

// Open makes a client; it connects to nothing.
func Open(c S3) *Store {
	client := func(attempts int) *s3.Client {
		return s3.New(s3.Options{
			BaseEndpoint:     aws.String(c.Endpoint),
			Region:           c.Region,
			UsePathStyle:     true,
			Credentials:      credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, ""),
			RetryMaxAttempts: attempts,
			// Stores that are not Amazon's refuse checksums that they do not know.
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

// ErrExists is the answer to a write of an object that must be new and is not.
var ErrExists = errors.New("the object is there already")

// Name says which store it is, for messages.
func (s *Store) Name() string { return fmt.Sprintf("bucket %s at %s", s.bucket, s.endpoint) }

// ErrNone says that there is no such object, or not even the bucket.
var ErrNone = errors.New("there is no such object")

// Read returns an object's content, or ErrNone.
func (s *Store) Read(ctx context.Context, key string) ([]byte, error) {
	data, err := s.read(ctx, key)
	if statusOf(err) == http.StatusNotFound {
		return nil, ErrNone
	}
	return data, err
}

// Write puts an object, in the place of one that may be there.
func (s *Store) Write(ctx context.Context, key string, data []byte) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data)})
	return s.wrap("write "+key, err)
}

// Remove deletes an object; it is no error if there is none.
func (s *Store) Remove(ctx context.Context, key string) error { return s.remove(ctx, key) }

// An Object is an entry of a list.
type Object struct {
	Key string
	Age time.Duration // since it was written, by the store's own clock; it counts whole seconds
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

// Create writes an object that must not be there yet, by one request. It returns
// ErrExists if it is.
func (s *Store) Create(ctx context.Context, key string, data []byte) error {
	_, err := s.once.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data), IfNoneMatch: aws.String("*"),
	})
	// 409: another conditional write of the same object is under way, and wins.
	if status := statusOf(err); status == http.StatusPreconditionFailed || status == http.StatusConflict {
		return ErrExists
	}
	return s.wrap("write "+key, err)
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

// remove deletes an object; it is no error if there is none.
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

// statusOf is the HTTP status that err comes from, or 0.
func statusOf(err error) int {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// codeOf is the store's own word for err, or empty.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// enableVersions turns on the bucket's memory of earlier states.
func (s *Store) enableVersions(ctx context.Context) error {
	_, err := s.client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket:                  &s.bucket,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	return s.wrap("turn on versions", err)
}
