// Package kubeapi speaks to the Kubernetes API of a cluster.
package kubeapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// A Dial opens a TCP connection to an address, such as 10.0.0.11:6443.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// An API is the Kubernetes API of one cluster. Its errors are those of the Kubernetes client, which Why explains.
type API struct {
	objects dynamic.Interface
	kinds   *discovery.DiscoveryClient
	names   *restmapper.DeferredDiscoveryRESTMapper // of resources, by kind
}

// New logs in with a kubeconfig. dial is the way to the server; nil: the direct one. Nothing is sent yet.
func New(kubeconfig []byte, dial Dial) (*API, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, errors.New("the kubeconfig cannot be read") // the error may quote it
	}
	if dial != nil {
		config.Dial = func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) }
	}
	config.QPS = -1 // the server has limits of its own
	config.UserAgent = manager
	config.WarningHandler = rest.NoWarnings{}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	a := &API{}
	if a.objects, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if a.kinds, err = discovery.NewDiscoveryClientForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	a.names = restmapper.NewDeferredDiscoveryRESTMapperWithContext(memory.NewMemCacheClientWithContext(a.kinds))
	return a, nil
}

// A Kind is one of the kinds of objects that the server has.
type Kind struct {
	Name     string // such as Kustomization
	Resource schema.GroupVersionResource
}

// Kinds returns the kinds whose API group has this ending, such as .toolkit.fluxcd.io, in their preferred versions and sorted
// by group and name. It is empty if there are none.
func (a *API) Kinds(ctx context.Context, ending string) ([]Kind, error) {
	groups, err := a.kinds.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, g := range groups.Groups {
		if !strings.HasSuffix(g.Name, ending) {
			continue
		}
		list, err := a.kinds.ServerResourcesForGroupVersionWithContext(ctx, g.PreferredVersion.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
				kinds = append(kinds, Kind{r.Kind, schema.GroupVersionResource{Group: g.Name, Version: g.PreferredVersion.Version, Resource: r.Name}})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return strings.Compare(a.Resource.Group+"/"+a.Name, b.Resource.Group+"/"+b.Name)
	})
	return kinds, nil
}

// List returns all objects of a kind, in every namespace.
func (a *API) List(ctx context.Context, kind Kind) ([]unstructured.Unstructured, error) {
	return a.list(ctx, kind, metav1.ListOptions{})
}

func (a *API) list(ctx context.Context, kind Kind, options metav1.ListOptions) (objects []unstructured.Unstructured, err error) {
	options.Limit = 500 // of a page, which is no burden for the server
	for {
		page, err := a.objects.Resource(kind.Resource).List(ctx, options)
		if err != nil {
			return nil, err
		}
		objects = append(objects, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return objects, nil
		}
	}
}

// secrets are those of Kubernetes.
var secrets = Kind{"Secret", schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}

// SecretValues returns the values of all Secrets in the cluster, for a mask. Those of Helm's releases are left out: they
// contain whole charts.
func (a *API) SecretValues(ctx context.Context) (values []string, err error) {
	objects, err := a.list(ctx, secrets, metav1.ListOptions{FieldSelector: "type!=helm.sh/release.v1"})
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		for _, encoded := range data {
			value, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return nil, errors.New("a Secret is not in base64")
			}
			values = append(values, string(value))
		}
	}
	return values, nil
}

// Why says in a sentence why the API did not do something. The server's words can quote the object that it was sent.
func Why(err error) error {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		if apierrors.IsUnauthorized(err) {
			return errors.New("the Kubernetes API does not accept the login")
		}
		return fmt.Errorf("the Kubernetes API refuses it: %s", strings.Join(strings.Fields(status.ErrStatus.Message), " "))
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("the Kubernetes API does not answer: %w", err)
}
