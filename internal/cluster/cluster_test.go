package cluster

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"testing"
	"testing/fstest"

	"slipway/internal/testkit/archives"
)

var update = flag.Bool("update", false, "write what is wanted into the archives")

func TestLoad(t *testing.T) {
	archives.Check(t, 30, "valid", *update, func(t *testing.T, repository fs.FS, _ string) (string, error) {
		c, warnings, err := Load(repository, "test")
		if err != nil {
			return "", err
		}
		return describe(t, c, warnings), nil
	})
}

func describe(t *testing.T, c *Cluster, warnings []string) string {
	t.Helper()
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data) + "\n"
	for _, w := range warnings {
		text += "warning: " + w + "\n"
	}
	return text
}

// An environment without the file has no cluster.
func TestLoadNone(t *testing.T) {
	if _, _, err := Load(fstest.MapFS{}, "test"); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}
