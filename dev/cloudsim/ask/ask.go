// Package ask is how the programs that play parts of the cloud talk to cloudsim.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ErrNone is the error if there is nothing at the path.
var ErrNone = errors.New("not found")

var client = &http.Client{Timeout: 10 * time.Second}

// Get returns what is at url.
func Get(ctx context.Context, url string) ([]byte, error) { return do(ctx, http.MethodGet, url) }

// Post sends what url itself says.
func Post(ctx context.Context, url string) error {
	_, err := do(ctx, http.MethodPost, url)
	return err
}

func do(ctx context.Context, method, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil, ErrNone
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// JSON is Get, and decodes it.
func JSON(ctx context.Context, url string, into any) error {
	text, err := Get(ctx, url)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
