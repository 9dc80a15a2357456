package flux

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// largest is the size that the manifests of Flux may have. Those of 2.9 have 700 kB.
const largest = 32 << 20

// Manifests are the objects that Flux consists of.
type Manifests struct {
	Version   string
	Namespace []*unstructured.Unstructured // its own
	Kinds     []*unstructured.Unstructured // its CRDs
	Rest      []*unstructured.Unstructured
}

// Pull downloads the manifests that the settings name by digest, and returns those of their components.
func (f *Settings) Pull(ctx context.Context) (*Manifests, error) {
	var options []name.Option
	if f.Insecure {
		options = append(options, name.Insecure)
	}
	reference, err := name.NewDigest(f.Manifests, options...)
	if err != nil {
		return nil, err
	}
	image, err := remote.Image(reference, remote.WithContext(ctx)) // which compares the digest
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) != 1 {
		return nil, fmt.Errorf("it has %d layers, and an artifact of Flux has one", len(layers))
	}
	archive, err := layers[0].Uncompressed() // which compares its digest
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	text, err := unpack(archive)
	if err != nil {
		return nil, err
	}
	return f.parse(text)
}

// unpack returns the YAML files of an artifact, one after the other.
func unpack(archive io.Reader) ([]byte, error) {
	var text bytes.Buffer
	for files := tar.NewReader(io.LimitReader(archive, largest)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return text.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg || !strings.HasSuffix(header.Name, ".yaml") {
			continue
		}
		text.WriteString("\n---\n")
		if _, err := io.Copy(&text, files); err != nil { //nolint:gosec // its size is limited above
			return nil, err
		}
	}
}

// Labels of the objects that Flux consists of.
const (
	componentLabel = "app.kubernetes.io/component"
	versionLabel   = "app.kubernetes.io/version"
)

// parse reads the objects, and leaves out those of other components.
func (f *Settings) parse(text []byte) (*Manifests, error) {
	m := &Manifests{}
	found := map[string]bool{}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		component := o.GetLabels()[componentLabel]
		if len(o.Object) == 0 || component != "" && !slices.Contains(f.Components, component) {
			continue
		}
		found[component] = true
		own(o)
		switch o.GetKind() {
		case "Namespace":
			m.Namespace = append(m.Namespace, o)
			continue
		case "CustomResourceDefinition":
			m.Kinds = append(m.Kinds, o)
			continue
		case "Deployment":
			m.Version = o.GetLabels()[versionLabel]
			if err := f.withoutEvents(o); err != nil {
				return nil, err
			}
		}
		m.Rest = append(m.Rest, o)
	}
	for _, c := range f.Components {
		if !found[c] {
			return nil, fmt.Errorf("it has no %s", c)
		}
	}
	return m, nil
}

// withoutEvents has a controller send no events if notification-controller, which would receive them, is not installed.
func (f *Settings) withoutEvents(deployment *unstructured.Unstructured) error {
	if slices.Contains(f.Components, "notification-controller") {
		return nil
	}
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return err
	}
	for _, c := range containers {
		container, _ := c.(map[string]any)
		args, _ := container["args"].([]any)
		for i, a := range args {
			if text, _ := a.(string); strings.HasPrefix(text, "--events-addr=") {
				args[i] = "--events-addr="
			}
		}
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}
