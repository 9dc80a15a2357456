package flux

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"slipway/internal/cluster"
	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/settings"
)

// FileName is the file beside environment.yaml.
const FileName = "flux.yaml"

// Settings are what flux.yaml says: which Flux a cluster gets, and what it reconciles.
type Settings struct {
	Environment string `yaml:"-" json:"-"`

	Manifests  string   `yaml:"manifests" json:"manifests" jsonschema:"description=The OCI artifact with the manifests of Flux\\, by digest. Example: ghcr.io/fluxcd/flux-manifests:v2.9.5@sha256:…"`
	Insecure   bool     `yaml:"insecure" json:"insecure,omitempty" jsonschema:"description=Whether that registry is asked over plain HTTP. Default: false"`
	Components []string `yaml:"components" json:"components,omitempty" jsonschema:"minItems=1,description=Controllers to install. Default: source-controller\\, kustomize-controller\\, helm-controller and notification-controller"`

	Git        *Git     `yaml:"git" json:"git,omitempty" jsonschema:"description=The Git repository that Flux reconciles"`
	OCI        *OCI     `yaml:"oci" json:"oci,omitempty" jsonschema:"description=The OCI artifact that Flux reconciles\\, instead of a Git repository"`
	Path       string   `yaml:"path" json:"path" jsonschema:"minLength=1,description=Folder in it. Example: clusters/prod"`
	Interval   string   `yaml:"interval" json:"interval,omitempty" jsonschema:"description=Time after which Flux looks again. Default: 10m"`
	Decryption string   `yaml:"decryption" json:"decryption,omitempty" jsonschema:"description=Variable in the credentials with the age identity that decrypts SOPS files. Default: none"`
	Secrets    []Secret `yaml:"secrets" json:"secrets,omitempty" jsonschema:"minItems=1,description=Further Secrets\\, made before Flux reconciles anything"`
}

// Git is a Git repository, and how Flux reads it.
type Git struct {
	URL        string   `yaml:"url" json:"url" jsonschema:"description=Its URL. Examples: ssh://git@github.com/example/fleet.git\\, https://github.com/example/fleet.git"`
	Branch     string   `yaml:"branch" json:"branch" jsonschema:"minLength=1,description=The branch"`
	Key        string   `yaml:"key" json:"key,omitempty" jsonschema:"description=With SSH: variable in the credentials with the private deploy key. It needs no right to write"`
	KnownHosts []string `yaml:"knownHosts" json:"knownHosts,omitempty" jsonschema:"minItems=1,description=With SSH: lines of known_hosts"`
	Username   string   `yaml:"username" json:"username,omitempty" jsonschema:"description=With a token: the user. Default: git"`
	Token      string   `yaml:"token" json:"token,omitempty" jsonschema:"description=With HTTPS: variable in the credentials with the token. It needs no right to write. Default: the repository is public"`
}

// OCI is an OCI artifact, and how Flux reads it.
type OCI struct {
	URL      string `yaml:"url" json:"url" jsonschema:"description=Its URL without a tag. Example: oci://ghcr.io/example/fleet"`
	Tag      string `yaml:"tag" json:"tag" jsonschema:"minLength=1,description=The tag. Example: latest"`
	Insecure bool   `yaml:"insecure" json:"insecure,omitempty" jsonschema:"description=Whether the registry is asked over plain HTTP. Default: false"`
}

// A Secret is one of Kubernetes, made of the environment's credentials.
type Secret struct {
	Name      string  `yaml:"name" json:"name" jsonschema:"description=Its name"`
	Namespace string  `yaml:"namespace" json:"namespace,omitempty" jsonschema:"description=Its namespace\\, which is made if it is not there. Default: flux-system"`
	Values    []Value `yaml:"values" json:"values" jsonschema:"minItems=1,description=Its values"`
}

// A Value is one of a Secret.
type Value struct {
	Key  string `yaml:"key" json:"key" jsonschema:"description=Its key in the Secret"`
	From string `yaml:"from" json:"from" jsonschema:"description=Variable in the credentials with the value"`
}

// Path returns the file of an environment.
func Path(environment string) string { return path.Join("environments", environment, FileName) }

// ErrNone means that an environment has no Flux.
var ErrNone = errors.New("the environment has no flux.yaml")

// Load reads the settings of an environment. It returns ErrNone if there are none.
func Load(repository fs.FS, environment string) (*Settings, error) {
	s := &source{settings.Source{
		Path: Path(environment), Check: "dagger call environments", Secrets: "credentials/" + environment + ".enc.env",
		Least: "`manifests:`, `git:` or `oci:`, and `path:`; the keys are in environments/flux.schema.json",
	}}
	f := &Settings{Environment: environment}
	there, err := s.Read(repository, f)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, ErrNone
	}
	if _, err := fs.Stat(repository, cluster.Path(environment)); err != nil {
		return nil, fault.Refuse("$EDITOR "+printable.Word(cluster.Path(environment))+"   # its keys: environments/cluster.schema.json", "%s is for a cluster, and there is no %s", s.Path, cluster.Path(environment))
	}
	for _, rule := range []func(*Settings) error{s.checkManifests, s.checkSource, s.checkGit, s.checkPath, s.checkSecrets} {
		if err := rule(f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// A source is the flux.yaml that is being read.
type source struct{ settings.Source }

var (
	artifactPattern  = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[A-Za-z0-9._-]+)?@sha256:[0-9a-f]{64}$`)
	componentPattern = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	variablePattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	namePattern      = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	keyPattern       = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	ociPattern       = regexp.MustCompile(`^oci://[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+$`)
)

// usual are the controllers of `flux install`.
var usual = []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller"}

func (s *source) checkManifests(f *Settings) error {
	if !artifactPattern.MatchString(f.Manifests) {
		return s.Refuse("manifests", s.Edit("write the artifact with its digest: flux-manifests:VERSION@sha256:…"), "%q is not an artifact by digest, so it could change", f.Manifests)
	}
	if f.Components == nil {
		f.Components = usual
	}
	for i, c := range f.Components {
		if !componentPattern.MatchString(c) || slices.Index(f.Components, c) != i {
			return s.Refuse("components", s.Edit("name each controller once, such as helm-controller"), "%q is not a controller, or is listed twice", c)
		}
	}
	for _, needed := range usual[:2] {
		if !slices.Contains(f.Components, needed) {
			return s.Refuse("components", s.Edit("add %s", needed), "without %s, nothing would be reconciled", needed)
		}
	}
	return nil
}

func (s *source) checkSource(f *Settings) error {
	if (f.Git == nil) == (f.OCI == nil) {
		return s.Refuse("", s.Edit("write one of git: and oci:"), "Flux needs one source")
	}
	if f.OCI != nil && !ociPattern.MatchString(f.OCI.URL) {
		return s.Refuse("oci.url", s.Edit("write a URL without a tag, such as oci://ghcr.io/example/fleet"), "%q is not the URL of an OCI artifact", f.OCI.URL)
	}
	if f.OCI != nil && f.OCI.Tag == "" {
		return s.Refuse("oci", s.Edit("write tag: and a tag, such as latest"), "oci has no tag")
	}
	return nil
}

func (s *source) checkGit(f *Settings) error {
	g := f.Git
	if g == nil {
		return nil
	}
	u, err := url.Parse(g.URL)
	if err != nil || !slices.Contains([]string{"ssh", "https", "http"}, u.Scheme) || u.Host == "" {
		return s.Refuse("git.url", s.Edit("write a URL, such as ssh://git@github.com/example/fleet.git"), "%s is not a URL by SSH or HTTPS", printable.Shorten(redacted(g.URL), 80))
	}
	_, secret := u.User.Password()
	ssh := u.Scheme == "ssh"
	switch {
	case secret || u.RawQuery != "" || !ssh && u.User != nil:
		return s.Refuse("git.url", s.KeepSecret(), "the URL of the Git repository has a user or a password in it")
	case g.Branch == "":
		return s.Refuse("git", s.Edit("write branch: and a branch, such as main"), "git has no branch")
	case ssh && (g.Key == "" || len(g.KnownHosts) == 0):
		return s.Refuse("git", s.Edit("write key: and knownHosts:, as `ssh-keyscan` prints them and the server's owner confirms"), "a repository by SSH needs a deploy key and the keys of its host")
	case !ssh && (g.Key != "" || len(g.KnownHosts) > 0):
		return s.Refuse("git", s.Edit("delete key: and knownHosts:, or write an ssh:// URL"), "a key is for SSH, and %s is not by SSH", g.URL)
	case ssh && g.Token != "":
		return s.Refuse("git.token", s.Edit("delete token:, or write an https:// URL"), "a token is for HTTPS, and %s is by SSH", g.URL)
	case u.Scheme == "http" && g.Token != "":
		return s.Refuse("git.url", s.Edit("write an https:// URL"), "the token would be sent in the clear to %s", g.URL)
	case g.Username != "" && g.Token == "":
		return s.Refuse("git.username", s.Edit("add token:, or delete username:"), "git has a user without a token")
	}
	if g.Token != "" && g.Username == "" {
		g.Username = "git"
	}
	for at, variable := range map[string]string{"git.key": g.Key, "git.token": g.Token} {
		if err := s.variable(at, variable); err != nil {
			return err
		}
	}
	return nil
}

// redacted is a URL without what may be a password in it.
func redacted(text string) string {
	if i := strings.LastIndex(text, "@"); i >= 0 {
		return "…" + text[i:]
	}
	return text
}

// variable refuses what cannot be the name of a credential: people write the secret itself there.
func (s *source) variable(at, name string) error {
	if name == "" || variablePattern.MatchString(name) && len(name) < 64 {
		return nil
	}
	return s.Refuse(at, s.KeepSecret(), "%s is not the name of a variable", at)
}

func (s *source) checkPath(f *Settings) error {
	clean := strings.TrimPrefix(f.Path, "./")
	if clean == "" || clean != "." && !fs.ValidPath(clean) {
		return s.Refuse("path", s.Edit("write a folder of the source, such as clusters/%s", f.Environment), "%q is not a folder in the source", f.Path)
	}
	f.Path = "./" + strings.TrimPrefix(clean, ".")
	if f.Interval == "" {
		f.Interval = "10m"
	}
	if d, err := time.ParseDuration(f.Interval); err != nil || d < time.Minute {
		return s.Refuse("interval", s.Edit("write a duration of at least 1m, such as 10m"), "%q is not an interval", f.Interval)
	}
	return s.variable("decryption", f.Decryption)
}

func (s *source) checkSecrets(f *Settings) error {
	seen := map[string]bool{Namespace + "/" + ageSecret: f.Decryption != "", Namespace + "/" + sourceSecret: f.Git != nil}
	for i := range f.Secrets {
		secret := &f.Secrets[i]
		at := fmt.Sprintf("secrets[%d]", i)
		if secret.Namespace == "" {
			secret.Namespace = Namespace
		}
		for _, name := range []string{secret.Name, secret.Namespace} {
			if !namePattern.MatchString(name) {
				return s.Refuse(at, s.Edit("write lower-case letters, digits and dashes"), "%q cannot be the name of a Secret or a namespace", name)
			}
		}
		if full := secret.Namespace + "/" + secret.Name; seen[full] {
			return s.Refuse(at, s.Edit("choose another name"), "the Secret %s is made twice", full)
		}
		seen[secret.Namespace+"/"+secret.Name] = true
		if len(secret.Values) == 0 {
			return s.Refuse(at, s.Edit("write values: [{key: KEY, from: VARIABLE}]"), "the Secret %s has no values", secret.Name)
		}
		for _, v := range secret.Values {
			if !keyPattern.MatchString(v.Key) {
				return s.Refuse(at, s.Edit("write letters, digits, dots and dashes"), "%q cannot be a key of a Secret", v.Key)
			}
			if v.From == "" {
				return s.Refuse(at, s.Edit("write from: and a variable of the credentials"), "the key %s of the Secret %s comes from nowhere", v.Key, secret.Name)
			}
			if err := s.variable(at, v.From); err != nil {
				return err
			}
		}
	}
	return nil
}

// Variables returns the credentials that the settings name, in their order.
func (f *Settings) Variables() (names []string) {
	if f.Git != nil {
		names = append(names, f.Git.Key, f.Git.Token)
	}
	names = append(names, f.Decryption)
	for _, s := range f.Secrets {
		for _, v := range s.Values {
			names = append(names, v.From)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
