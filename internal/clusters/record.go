package clusters

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"slipway/internal/cluster"
	"slipway/internal/fault"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/talos"
)

// A record has the configurations that the nodes of a cluster had at the end of the last apply. A plan
// compares with it if it cannot ask the nodes. It is stored beside the state under a key that the credentials
// for plans cannot write. It has no value that may be secret, and digests of all, under a key that is derived
// from the passphrase of the state.
type record struct {
	Version int                 `json:"version"` // 1
	Key     string              `json:"key"`     // identifies the key of the digests
	Run     string              `json:"run"`
	Ended   time.Time           `json:"ended"`
	Nodes   map[string]recorded `json:"nodes"` // by name
}

type recorded struct {
	Talos    string       `json:"talos"` // version that the node runs
	Settings []talos.Kept `json:"settings"`
}

func recordKey(r *run.Run) string { return r.Env + "/cluster.json" }

// derived returns the key of the digests that belongs to a passphrase.
func derived(passphrase string) string { return mac(passphrase, "slipway cluster") }

// identity identifies a key.
func identity(key string) string { return mac(key, "slipway key")[:16] }

func mac(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// digestKey returns the key of this run's digests.
func (c *Cluster) digestKey() string {
	if c.key == "" {
		c.key = derived(c.Credentials[state.Passphrase])
	}
	return c.key
}

// keyCalled returns the key with that identity; "" if this run does not have it.
func (c *Cluster) keyCalled(id string) string {
	for _, variable := range []string{state.Passphrase, state.PreviousPassphrase} {
		if key := derived(c.Credentials[variable]); c.Credentials[variable] != "" && identity(key) == id {
			return key
		}
	}
	return ""
}

// readRecord returns the record, which is empty if there is none. From then on, digests are made under its key.
func (c *Cluster) readRecord(ctx context.Context) (last record, err error) {
	if c.Store == nil {
		return record{}, nil
	}
	data, err := c.Store.Read(ctx, recordKey(c.Run))
	if errors.Is(err, state.ErrNone) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read the record of the cluster: %w", err)
	}
	again := "dagger call cluster plan --env=" + c.Env + "   # by somebody whose key opens " + cluster.SecretsFile(c.Env) + ": it asks the nodes"
	if json.Unmarshal(data, &last) != nil || last.Version != 1 {
		return record{}, fault.Refuse(again, "it is unknown how the nodes are configured: %s in %s is not a record of this version", recordKey(c.Run), c.Store.Name())
	}
	key := c.keyCalled(last.Key)
	if key == "" {
		return record{}, fault.Refuse(again, "it is unknown how the nodes are configured: their record was made under another passphrase of the state")
	}
	c.key = key
	return last, nil
}

// remember stores the record, under the passphrase of now. Without it, the next plan shows more changes than
// there are: that is no reason for an apply to fail.
func (c *Cluster) remember(ctx context.Context, s State) {
	last, _ := c.readRecord(ctx)
	key := derived(c.Credentials[state.Passphrase])
	now := record{Version: 1, Key: identity(key), Run: c.ID, Ended: time.Now().UTC(), Nodes: map[string]recorded{}}
	for _, n := range c.Spec.Nodes {
		o := s.Nodes[n.Name]
		if was, there := last.Nodes[n.Name]; there && last.Key == now.Key {
			now.Nodes[n.Name] = was
		}
		if o.Config == nil {
			continue
		}
		if has, err := talos.Settings(o.Config); err == nil {
			now.Nodes[n.Name] = recorded{o.Version, talos.Keep(has, key, c.Mask.String)}
		}
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = c.Store.Write(ctx, recordKey(c.Run), data)
	}
	if err != nil {
		c.Say("note: this apply could not be recorded, so the next plan compares with an earlier one: %v", err)
	}
}

// Forget deletes the record, as the nodes are gone.
func Forget(ctx context.Context, r *run.Run) error {
	if r.Store == nil || !r.HasCluster() {
		return nil
	}
	return r.Store.Remove(ctx, recordKey(r))
}
