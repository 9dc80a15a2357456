package talos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"go.yaml.in/yaml/v3"
)

// A Place is where a setting is.
type Place struct {
	Document string   `json:"document,omitempty"` // kind and name, such as "RegistryMirrorConfig docker.io"; empty: v1alpha1
	Path     []string `json:"path"`               // within the document; an element of a list has its name or index
}

// String returns the document and the path, such as "HostnameConfig: hostname".
func (p Place) String() string {
	if p.Document == "" {
		return strings.Join(p.Path, ".")
	}
	return p.Document + ": " + strings.Join(p.Path, ".")
}

// key identifies a place within a configuration. No name has a line break.
func (p Place) key() string { return p.Document + "\n" + strings.Join(p.Path, "\n") }

func (p Place) where() Place { return p }

// A Setting is one value of a machine configuration: a scalar, or a list of scalars.
type Setting struct {
	Place
	Value  string // empty: hidden
	Hidden bool   // the value may be a secret

	raw     string // the value, to compare
	derived bool   // the value depends on the secrets of the machines, which were not there: it is not known
}

// Settings returns the settings of a configuration, in its order.
func Settings(c config.Provider) ([]Setting, error) {
	text, err := c.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return nil, errors.New("the configuration cannot be written") // the error may quote it
	}
	return parse(text)
}

// Hidden returns the values that Settings hides.
func Hidden(c config.Provider) (values []string, err error) {
	settings, err := Settings(c)
	for _, s := range settings {
		if s.Hidden {
			values = append(values, s.raw)
		}
	}
	return values, err
}

// parse reads the settings of documents that the machinery has written.
func parse(text []byte) ([]Setting, error) {
	var all []Setting
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil || document.Content[0].Kind != yaml.MappingNode {
			return nil, errors.New("the configuration is not made of YAML documents")
		}
		root := document.Content[0]
		kind, name := field(root, "kind"), field(root, "name")
		d := reader{kind: kind}
		if kind == "" {
			d.kind = "v1alpha1"
		} else {
			d.document = strings.TrimSpace(kind + " " + name)
			drop(root, "apiVersion", "kind")
		}
		d.walk(root, nil)
		all = append(all, d.settings...)
	}
}

// field returns a scalar of a mapping; "" if there is none.
func field(mapping *yaml.Node, key string) string {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1].Value
		}
	}
	return ""
}

func drop(mapping *yaml.Node, keys ...string) {
	for i := 0; i+1 < len(mapping.Content); {
		if slices.Contains(keys, mapping.Content[i].Value) {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			continue
		}
		i += 2
	}
}

// A reader collects the settings of one document.
type reader struct {
	kind, document string
	settings       []Setting
}

func (d *reader) walk(node *yaml.Node, path []string) {
	switch {
	case node.Kind == yaml.MappingNode && len(node.Content) > 0:
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i].Value
			if !safeURLs(name) {
				name = "(hidden)"
			}
			d.walk(node.Content[i+1], append(slices.Clip(path), name))
		}
	case !scalars(node):
		for i, name := range d.names(node, path) {
			d.walk(node.Content[i], append(slices.Clip(path), name))
		}
	default:
		raw := text(node)
		s := Setting{Place: Place{d.document, path}, raw: raw}
		if harmless(d.kind, path, raw) {
			s.Value = raw
		} else {
			s.Hidden = true
		}
		d.settings = append(d.settings, s)
	}
}

// scalars reports whether a node has nothing but scalars in it.
func scalars(node *yaml.Node) bool {
	return !slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode })
}

// names identifies the elements of a list: by what they are called, if that is no secret and another word
// for each, or by their index. So one that is added in the middle does not look like a change of all
// behind it.
func (d *reader) names(list *yaml.Node, path []string) []string {
	for _, key := range []string{"name", "interface", "path", "mountPath", "url"} {
		var found []string
		for _, element := range list.Content {
			name := field(element, key)
			if element.Kind != yaml.MappingNode || name == "" || slices.Contains(found, name) || !harmless(d.kind, append(slices.Clip(path), "*", key), name) {
				break
			}
			found = append(found, name)
		}
		if len(found) == len(list.Content) {
			return found
		}
	}
	var indexes []string
	for i := range list.Content {
		indexes = append(indexes, strconv.Itoa(i))
	}
	return indexes
}

func text(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "{}"
	case yaml.SequenceNode:
		var items []string
		for _, item := range node.Content {
			items = append(items, text(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case yaml.ScalarNode:
		if node.Value == "" || strings.ContainsAny(node.Value, ",[]\"") {
			return fmt.Sprintf("%q", node.Value)
		}
	}
	return node.Value
}
