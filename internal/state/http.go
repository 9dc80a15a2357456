package state

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// HTTP says where a server of OpenTofu's http backend protocol is and which credentials to use.
type HTTP struct {
	Address            string // base URL; each state has its own URL below it
	Username, Password string // empty: none
}

func (c HTTP) url(key string) string { return strings.TrimRight(c.Address, "/") + "/" + key }

// Backend returns the -backend-config settings for `tofu init` and the state at key. LOCK and
// UNLOCK use the same URL.
func (c HTTP) Backend(key string) map[string]string {
	url := c.url(key)
	return map[string]string{"address": url, "lock_address": url, "unlock_address": url}
}

// Stamp reads the stamp of the state at key, which must be complete and encrypted. It returns
// ErrNone if there is no state.
func (c HTTP) Stamp(ctx context.Context, key string) (Stamp, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(key), nil)
	if err != nil {
		return Stamp{}, err
	}
	if c.Username != "" {
		request.SetBasicAuth(c.Username, c.Password)
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return Stamp{}, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusNoContent:
		return Stamp{}, ErrNone
	case http.StatusOK:
	default:
		return Stamp{}, fmt.Errorf("read the state %s: the server answered %s", c.url(key), response.Status)
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return Stamp{}, err
	}
	if len(data) == 0 {
		return Stamp{}, ErrNone
	}
	return ReadStamp("the state "+c.url(key), data)
}
