package flux

import (
	"encoding/base64"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/fault"
)

// Names that `flux bootstrap` uses, too: what it has made is taken over.
const (
	Namespace    = "flux-system"
	syncName     = "flux-system" // of the source and of the Kustomization
	sourceSecret = "flux-system"
	ageSecret    = "sops-age"
)

type object = map[string]any

func newObject(version, kind, namespace, name string, fields object) *unstructured.Unstructured {
	metadata := object{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o := object{"apiVersion": version, "kind": kind, "metadata": metadata}
	for k, v := range fields {
		o[k] = v
	}
	return &unstructured.Unstructured{Object: o}
}

// own keeps the controllers' hands off an object that Flux is made of. A Git repository of `flux bootstrap` contains the same ones:
// without this, its version would be applied again, and when it is deleted there, Flux would delete itself.
func own(o *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["kustomize.toolkit.fluxcd.io/ssa"] = "Ignore"
	annotations["kustomize.toolkit.fluxcd.io/prune"] = "disabled"
	o.SetAnnotations(annotations)
	return o
}

// Namespaces returns those of further Secrets. Only where one is not there is it made: it may have labels that others apply.
func (f *Settings) Namespaces() (namespaces []*unstructured.Unstructured) {
	for _, s := range f.Secrets {
		there := func(o *unstructured.Unstructured) bool { return o.GetName() == s.Namespace }
		if s.Namespace != Namespace && !slices.ContainsFunc(namespaces, there) {
			namespaces = append(namespaces, newObject("v1", "Namespace", "", s.Namespace, nil))
		}
	}
	return namespaces
}

// Prepared returns the Secrets that have to be there before Flux reconciles anything. values are the
// environment's credentials, and have all of Variables. set returns the command that sets one.
func (f *Settings) Prepared(values map[string]string, set func(variable string) string) ([]*unstructured.Unstructured, error) {
	var secrets []*unstructured.Unstructured
	add := func(namespace, name string, data map[string]string) {
		encoded := object{}
		for k, v := range data {
			encoded[k] = base64.StdEncoding.EncodeToString([]byte(v))
		}
		secrets = append(secrets, own(newObject("v1", "Secret", namespace, name, object{"type": "Opaque", "data": encoded})))
	}
	if f.Decryption != "" {
		add(Namespace, ageSecret, map[string]string{"age.agekey": values[f.Decryption]})
	}
	if g := f.Git; g != nil && g.Key != "" {
		key, err := ssh.ParsePrivateKey([]byte(values[g.Key]))
		if err != nil {
			return nil, fault.Refuse(set(g.Key), "%s is not a private SSH key without a passphrase", g.Key)
		}
		add(Namespace, sourceSecret, map[string]string{
			"identity": values[g.Key], "identity.pub": string(ssh.MarshalAuthorizedKey(key.PublicKey())), "known_hosts": strings.Join(g.KnownHosts, "\n") + "\n",
		})
	} else if g != nil && g.Token != "" {
		add(Namespace, sourceSecret, map[string]string{"username": g.Username, "password": values[g.Token]})
	}
	for _, s := range f.Secrets {
		data := map[string]string{}
		for _, v := range s.Values {
			data[v.Key] = values[v.From]
		}
		add(s.Namespace, s.Name, data)
	}
	return secrets, nil
}

// Sync returns the source and the Kustomization from which Flux reconciles everything else.
func (f *Settings) Sync() []*unstructured.Unstructured {
	source := object{"interval": f.Interval}
	kind := "OCIRepository"
	if f.Git != nil {
		kind = "GitRepository"
		source["url"], source["ref"] = f.Git.URL, object{"branch": f.Git.Branch}
		if f.Git.Key != "" || f.Git.Token != "" {
			source["secretRef"] = object{"name": sourceSecret}
		}
	} else {
		source["url"], source["ref"] = f.OCI.URL, object{"tag": f.OCI.Tag}
		if f.OCI.Insecure {
			source["insecure"] = true
		}
	}
	sync := object{
		"interval": f.Interval, "retryInterval": "1m", "path": f.Path, "prune": true,
		"sourceRef": object{"kind": kind, "name": syncName},
	}
	if f.Decryption != "" {
		sync["decryption"] = object{"provider": "sops", "secretRef": object{"name": ageSecret}}
	}
	return []*unstructured.Unstructured{
		own(newObject("source.toolkit.fluxcd.io/v1", kind, Namespace, syncName, object{"spec": source})),
		own(newObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", Namespace, syncName, object{"spec": sync})),
	}
}
