package managed

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"slipway/dev/cloudsim/ovh"
)

// The player gets the oldest cluster that is available, with the sources in its network, and the
// desk learns where the player is.
func TestDesk(t *testing.T) {
	all := []ovh.Instance{{ID: "a", Status: "DELETING"}, {ID: "b", Status: "CREATING"}, {ID: "c", Status: "UPDATING", Network: "n", Domain: "c.invalid"}, {ID: "d", Status: "READY"}}
	d := &Desk{
		Clusters: func() ([]ovh.Instance, error) { return all, nil },
		Sources: func(network string) (map[string]string, error) {
			return map[string]string{"10.87.0.5": network}, nil
		},
	}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	ask := func() (a Assignment) {
		t.Helper()
		response, err := http.Get(server.URL + Path + "one")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if d.At() != "" {
		t.Errorf("before it asks, it is at %s", d.At())
	}
	a := ask()
	if a.Cluster == nil || a.Cluster.ID != "c" || a.Sources["10.87.0.5"] != "n" || !slices.Equal(a.Clusters, []string{"a", "b", "c", "d"}) {
		t.Errorf("%+v", a)
	}
	if d.At() != "127.0.0.1" {
		t.Errorf("it is at %s", d.At())
	}
	if names, err := d.Domains(); err != nil || !slices.Contains(names, "c.invalid") {
		t.Errorf("%q, %v", names, err)
	}
	all = all[:2]
	if a := ask(); a.Cluster != nil || len(a.Clusters) != 2 {
		t.Errorf("%+v", a)
	}
	d.Clusters = func() ([]ovh.Instance, error) { return nil, errors.New("broken") }
	response, err := http.Get(server.URL + Path + "one")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusInternalServerError {
		t.Errorf("an error: %s", response.Status)
	}
}

// The data of clusters that are gone are deleted, and nothing else.
func TestWipeOthers(t *testing.T) {
	p := &Player{Data: t.TempDir()}
	for _, name := range []string{"a/data", "b/data"} {
		if err := os.MkdirAll(filepath.Join(p.Data, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{lockName, logName} {
		if err := os.WriteFile(filepath.Join(p.Data, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.wipeOthers([]string{"b", "c"}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(p.Data)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"b", lockName, logName}) {
		t.Errorf("%q, %v", names, err)
	}
}
