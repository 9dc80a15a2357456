// Package environment finds and reads environments: environments/<name>, which
// is what its path says, and the file environment.yaml in it. The file is read
// strictly, because what it gets wrong happens to real infrastructure; each
// fault is refused with its line and the way to mend it.
package environment

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"slipway/internal/approval"
	"slipway/internal/printable"
)

// An Environment is one folder below environments/.
type Environment struct {
	Name string `yaml:"-" json:"-"` // of the folder

	Description string   `yaml:"description" json:"description,omitempty" jsonschema:"description=What it is for; in one line"`
	Protected   bool     `yaml:"protected" json:"protected,omitempty" jsonschema:"description=Take only a reviewed plan for apply; and --confirm for destroy"`
	Credentials []string `yaml:"credentials" json:"credentials,omitempty" jsonschema:"minItems=1,description=Names of SOPS files: credentials/<name>.enc.env (or .yaml or .json). A later one wins"`
	Plan        *Plan    `yaml:"plan" json:"plan,omitempty" jsonschema:"description=What the stages use that only read: plan; drift; output; status and state-list. Absent: the same as all others"`
	Reviewers   []string `yaml:"reviewers" json:"reviewers,omitempty" jsonschema:"minItems=1,description=Public SSH keys with names: a protected environment takes only a plan that one of them has signed"`
	Layers      []Layer  `yaml:"layers" json:"layers,omitempty" jsonschema:"minItems=1,description=Root modules in the order of their apply; each has a state of its own. Without it the folder itself is the one layer"`
	State       State    `yaml:"state" json:"state" jsonschema:"description=Where the states are kept"`
	Allow       *Allow   `yaml:"allow" json:"allow,omitempty" jsonschema:"description=What its code may run that is not OpenTofu and its known providers; absent: nothing"`
	Deploy      *Deploy  `yaml:"deploy" json:"deploy,omitempty" jsonschema:"description=The Ansible stage; absent where there is none"`
	SSH         *SSH     `yaml:"ssh" json:"ssh,omitempty" jsonschema:"description=How the hosts are reached; absent: at their addresses"`
	Review      *Review  `yaml:"review" json:"review,omitempty" jsonschema:"description=What a plan shows of the values that change; absent: those of the table in internal/plan/table.go"`
	Drift       *Drift   `yaml:"drift" json:"drift,omitempty" jsonschema:"description=How the check for drift judges; absent: every change counts at once"`

	// CredentialFiles are the files that Credentials name, from the repository's root.
	CredentialFiles []string `yaml:"-" json:"-"`
	// MissingCredentials are those that are named and not there.
	MissingCredentials []string `yaml:"-" json:"-"`
	// The same of what the stages use that only read.
	PlanCredentialFiles    []string `yaml:"-" json:"-"`
	MissingPlanCredentials []string `yaml:"-" json:"-"`
	// Approvers are what Reviewers say.
	Approvers []approval.Reviewer `yaml:"-" json:"-"`
}

// Plan is for the stages that change nothing: their key may lie where those who write
// code can reach it.
type Plan struct {
	Credentials []string `yaml:"credentials" json:"credentials" jsonschema:"minItems=1,description=Names of SOPS files with credentials that can only read. A later one wins"`
}

// A Layer is a root module with a state of its own.
type Layer struct {
	Path string `yaml:"path" json:"path" jsonschema:"description=Folder below the environment's; or . for that folder itself"`
}

// State says where states are kept: in exactly one of the two.
type State struct {
	S3   *S3   `yaml:"s3" json:"s3,omitempty" jsonschema:"oneof_required=s3,description=A bucket; locked by conditional writes"`
	HTTP *HTTP `yaml:"http" json:"http,omitempty" jsonschema:"oneof_required=http,description=A server of OpenTofu's http protocol; with locks"`
}

// S3 is a bucket. Its credentials are AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY among the environment's credentials.
type S3 struct {
	Bucket   string `yaml:"bucket" json:"bucket" jsonschema:"description=Name of the bucket"`
	Region   string `yaml:"region" json:"region" jsonschema:"description=Region; as the store calls it"`
	Endpoint string `yaml:"endpoint" json:"endpoint,omitempty" jsonschema:"description=URL of the store. Without it Amazon's in the region"`
}

// HTTP is a server. Its credentials are TF_HTTP_USERNAME and TF_HTTP_PASSWORD
// among the environment's credentials.
type HTTP struct {
	Address string `yaml:"address" json:"address" jsonschema:"description=URL below which each state has its own; also used for LOCK and UNLOCK"`
}

// Allow names what the code may run besides OpenTofu and the providers that are known
// to run no program.
type Allow struct {
	Programs  []string `yaml:"programs" json:"programs,omitempty" jsonschema:"minItems=1,enum=external,enum=local-exec,enum=remote-exec,enum=file,enum=credential-process,description=Ways to run a program: data sources and provisioners by their type"`
	Modules   []string `yaml:"modules" json:"modules,omitempty" jsonschema:"minItems=1,description=Sources of modules that may change behind their name; as the code has them"`
	Providers []string `yaml:"providers" json:"providers,omitempty" jsonschema:"minItems=1,description=Addresses of providers. Example: registry.opentofu.org/acme/thing"`
}

// Programs are the ways to run one that can be allowed.
var Programs = []string{"external", "local-exec", "remote-exec", "file", "credential-process"}

// Deploy is the Ansible stage.
type Deploy struct {
	Playbook string `yaml:"playbook" json:"playbook" jsonschema:"description=File below ansible/playbooks"`
}

// SSH says how the hosts are reached.
type SSH struct {
	Proxy string `yaml:"proxy" json:"proxy" jsonschema:"description=URL of an HTTP proxy that leads to the hosts; it need not be trusted"`
}

// Review adds to the values that a plan shows.
type Review struct {
	Show []string `yaml:"show" json:"show" jsonschema:"minItems=1,description=Attributes whose values nobody keeps secret; as type.attribute or type.block.attribute. Example: openstack_compute_instance_v2.flavor_name"`
}

// Drift says which changes behind OpenTofu's back are expected, for a while.
type Drift struct {
	After  int      `yaml:"after" json:"after,omitempty" jsonschema:"minimum=1,description=An issue opens when so many checks in a row have found the same. Default 1"`
	Ignore []Ignore `yaml:"ignore" json:"ignore,omitempty" jsonschema:"minItems=1,description=Changes that are expected; each for a while"`
}

// An Ignore is one change that is expected.
type Ignore struct {
	Address    string   `yaml:"address" json:"address" jsonschema:"description=Address of the resource"`
	Attributes []string `yaml:"attributes" json:"attributes,omitempty" jsonschema:"minItems=1,description=Only these attributes. Default: the whole resource"`
	Until      string   `yaml:"until" json:"until" jsonschema:"format=date,description=Last day on which it is expected (UTC). Example: 2026-12-31"`
	Reason     string   `yaml:"reason" json:"reason" jsonschema:"description=Why; for the next reader"`
}

// Expired says whether the day is past.
func (i Ignore) Expired(now time.Time) bool { return now.UTC().Format(time.DateOnly) > i.Until }

// NeedCredentials refuses an environment whose credentials are not all there.
func (e *Environment) NeedCredentials() error { return need(e.MissingCredentials) }

// NeedPlanCredentials does the same for what the stages use that only read. The others
// have to be there, too: a plan is sealed to their readers.
func (e *Environment) NeedPlanCredentials() error {
	return need(slices.Concat(e.MissingCredentials, e.MissingPlanCredentials))
}

// FilesToPlan are the files of the credentials for the stages that only read.
func (e *Environment) FilesToPlan() []string {
	if e.Plan == nil {
		return e.CredentialFiles
	}
	return e.PlanCredentialFiles
}

func need(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	const command = "dagger call secrets init --file="
	hint := command + strings.Join(missing, " && "+command)
	if len(missing) == 1 {
		return refuse(hint, "there is no file %s", missing[0])
	}
	return refuse(hint, "there are no files %s", enumerate(missing))
}

// Shown are the attributes whose values a plan shows, beside those that it always does.
func (e *Environment) Shown() []string {
	if e.Review == nil {
		return nil
	}
	return e.Review.Show
}

// LayerName is that of the layer within its environment.
func (e *Environment) LayerName(l Layer) string {
	if l.Path == "." {
		return e.Name
	}
	return l.Path
}

// Dir is the layer's root module, from the repository's root.
func (e *Environment) Dir(l Layer) string { return path.Join("environments", e.Name, l.Path) }

// StateKey is the name of the layer's state in the store. It follows from the
// names and cannot be set, so that no environment can hold another's state.
func (e *Environment) StateKey(l Layer) string { return e.Name + "/" + e.LayerName(l) + ".tfstate" }

// List returns the names of the environments in the repository, sorted.
func List(repository fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(repository, "environments")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse("mkdir -p environments/test && $EDITOR environments/test/environment.yaml", "the repository has no folder environments")
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Load reads the environment called name and checks it against the repository.
func Load(repository fs.FS, name string) (*Environment, error) {
	known, err := List(repository)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, name) {
		if name == "" {
			return nil, refuse("name one of "+printable.Line(enumerate(known)), "no environment is named")
		}
		if found, mode, err := look(repository, "environments/"+name); err == nil && mode&fs.ModeSymlink != 0 {
			return nil, refuse(replaceLink(found), "%s is a symbolic link", found)
		}
		return nil, refuse(printable.Line(didYouMean(name, known)+"the environments are "+enumerate(known)), "there is no environment %q", name)
	}
	if !namePattern.MatchString(name) {
		return nil, refuse("rename the folder, small letters, digits and dashes, 32 at most: git mv -- "+printable.Word("environments/"+name)+" environments/<name>", "%q cannot be the name of an environment", name)
	}
	s := &source{path: "environments/" + name + "/environment.yaml", environment: name}
	mode, there, err := s.find(repository, "", s.path)
	if err != nil {
		return nil, err
	}
	if !there || !mode.IsRegular() {
		return nil, refuse("$EDITOR "+printable.Word(s.path), "there is no file %s", s.path)
	}
	data, err := fs.ReadFile(repository, s.path)
	if err != nil {
		return nil, err
	}
	e := &Environment{Name: name}
	if err := s.decode(data, e); err != nil {
		return nil, err
	}
	if len(e.Layers) == 0 {
		e.Layers = []Layer{{Path: "."}}
	}
	return e, s.check(repository, e)
}
