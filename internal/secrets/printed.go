package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/logging"
	"go.yaml.in/yaml/v3"
)

// LogTo redirects the sops library's log to w. The log quotes comments from files.
func LogTo(w io.Writer) {
	for _, logger := range logging.Loggers {
		logger.SetOutput(w)
	}
}

// printed returns the top-level values of a decrypted tree as `sops -d` prints them: dates as in
// RFC 3339, numbers in the file format's digits.
func printed(name string, tree sops.Tree) (map[string]string, error) {
	store, err := storeFor(name)
	if err != nil {
		return nil, err
	}
	data, err := store.EmitPlainFile(tree.Branches)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written as %s", name, path.Ext(name))
	}
	values := map[string]string{}
	if path.Ext(name) == ".json" {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, fmt.Errorf("%s is not an object", name)
		}
		for key, value := range fields {
			values[key] = string(bytes.TrimSpace(value))
		}
		return values, nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read again as YAML", name)
		}
		for _, mapping := range document.Content {
			for i := 0; i+1 < len(mapping.Content); i += 2 {
				values[mapping.Content[i].Value] = mapping.Content[i+1].Value
			}
		}
	}
}
