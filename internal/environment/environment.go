// Package environment finds and reads environments: the folders environments/<name> and the file
// environment.yaml in each. The file is read strictly, because its mistakes affect real
// infrastructure. Each fault is refused with its line and a hint how to fix it.
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
	"slipway/internal/settings"
)

// An Environment is one folder below environments/.
type Environment struct {
	Name string `yaml:"-" json:"-"` // the folder's name

	Description string   `yaml:"description" json:"description,omitempty" jsonschema:"description=What it is for; in one line"`
	Protected   bool     `yaml:"protected" json:"protected,omitempty" jsonschema:"description=apply requires a reviewed plan; destroy requires --confirm"`
	Credentials []string `yaml:"credentials" json:"credentials,omitempty" jsonschema:"minItems=1,description=Names of SOPS files: credentials/<name>.enc.env (or .yaml or .json). A later one wins"`
	Plan        *Plan    `yaml:"plan" json:"plan,omitempty" jsonschema:"description=Credentials for the stages that only read: plan; drift; output; status and state-list. Default: the credentials above"`
	Reviewers   []string `yaml:"reviewers" json:"reviewers,omitempty" jsonschema:"minItems=1,description=Public SSH keys with names: a protected environment only applies a plan that one of them has signed"`
	Layers      []Layer  `yaml:"layers" json:"layers,omitempty" jsonschema:"description=Root modules in apply order; each has its own state. Empty: there is only a cluster. Default: the folder itself is the only layer"`
	State       State    `yaml:"state" json:"state" jsonschema:"description=Where the states are kept"`
	Allow       *Allow   `yaml:"allow" json:"allow,omitempty" jsonschema:"description=What its code may run besides OpenTofu and known providers. Default: nothing"`
	Deploy      *Deploy  `yaml:"deploy" json:"deploy,omitempty" jsonschema:"description=The Ansible stage. Default: none"`
	Verify      *Verify  `yaml:"verify" json:"verify,omitempty" jsonschema:"description=What verify checks on the deployed system. Default: nothing"`
	SSH         *SSH     `yaml:"ssh" json:"ssh,omitempty" jsonschema:"description=How the hosts and the nodes of a cluster are reached. Default: directly at their addresses"`
	Review      *Review  `yaml:"review" json:"review,omitempty" jsonschema:"description=Which changed values a plan shows besides those listed in internal/plan/table.go"`
	Drift       *Drift   `yaml:"drift" json:"drift,omitempty" jsonschema:"description=How the drift check judges changes. Default: every change counts immediately"`

	// CredentialFiles are the files named by Credentials, relative to the repository's root.
	CredentialFiles []string `yaml:"-" json:"-"`
	// MissingCredentials are the named files that do not exist.
	MissingCredentials []string `yaml:"-" json:"-"`
	// The same for the stages that only read.
	PlanCredentialFiles    []string `yaml:"-" json:"-"`
	MissingPlanCredentials []string `yaml:"-" json:"-"`
	// Approvers are the parsed Reviewers.
	Approvers []approval.Reviewer `yaml:"-" json:"-"`
}

// Plan configures the stages that change nothing. The key for their credentials may be available to
// everyone who can push code.
type Plan struct {
	Credentials []string `yaml:"credentials" json:"credentials" jsonschema:"minItems=1,description=Names of SOPS files with credentials that can only read. A later one wins"`
}

// A Layer is a root module with a state of its own.
type Layer struct {
	Path string `yaml:"path" json:"path" jsonschema:"description=Folder below the environment's; or . for that folder itself"`
}

// State says where states are kept. Exactly one of the two is set.
type State struct {
	S3   *S3   `yaml:"s3" json:"s3,omitempty" jsonschema:"oneof_required=s3,description=A bucket; locked by conditional writes"`
	HTTP *HTTP `yaml:"http" json:"http,omitempty" jsonschema:"oneof_required=http,description=A server of OpenTofu's http backend protocol; with locks"`
}

// S3 is a bucket. The environment's credentials must contain AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY.
type S3 struct {
	Bucket   string `yaml:"bucket" json:"bucket" jsonschema:"description=Name of the bucket"`
	Region   string `yaml:"region" json:"region" jsonschema:"description=The store's name for the region"`
	Endpoint string `yaml:"endpoint" json:"endpoint,omitempty" jsonschema:"description=URL of the store. Default: Amazon S3 in the region"`
}

// HTTP is a server. The environment's credentials must contain TF_HTTP_USERNAME and
// TF_HTTP_PASSWORD.
type HTTP struct {
	Address string `yaml:"address" json:"address" jsonschema:"description=Base URL of the states; also used for LOCK and UNLOCK"`
}

// Allow lists what the code may run besides OpenTofu and the providers that are known to run no
// programs.
type Allow struct {
	Programs  []string `yaml:"programs" json:"programs,omitempty" jsonschema:"minItems=1,enum=external,enum=local-exec,enum=remote-exec,enum=file,enum=credential-process,description=Ways to run a program: data sources and provisioners by their type"`
	Modules   []string `yaml:"modules" json:"modules,omitempty" jsonschema:"minItems=1,description=Sources of modules that are not pinned; exactly as in the code"`
	Providers []string `yaml:"providers" json:"providers,omitempty" jsonschema:"minItems=1,description=Addresses of providers. Example: registry.opentofu.org/acme/thing"`
}

// Programs are the ways to run a program that can be allowed.
var Programs = []string{"external", "local-exec", "remote-exec", "file", "credential-process"}

// Deploy is the Ansible stage.
type Deploy struct {
	Playbook string `yaml:"playbook" json:"playbook" jsonschema:"description=File below ansible/playbooks"`
	Forks    int    `yaml:"forks" json:"forks,omitempty" jsonschema:"minimum=1,maximum=100,description=Number of hosts that are worked on at once. Default 5"`
	Serial   string `yaml:"serial" json:"serial,omitempty" jsonschema:"pattern=^[1-9][0-9]*%?$,description=Number or percentage of hosts that a play finishes before the next; the variable slipway_serial. Default 100%"`
	Drift    bool   `yaml:"drift" json:"drift,omitempty" jsonschema:"description=The drift check also runs the playbook with --check. Default: false"`
}

// Verify names the checks of the deployed system, which is reached as the hosts are.
type Verify struct {
	Roots  string       `yaml:"roots" json:"roots,omitempty" jsonschema:"description=Certificates of the trusted authorities in PEM: a file of the repository or an https URL. Default: those of the container"`
	HTTPS  *HTTPSCheck  `yaml:"https" json:"https,omitempty" jsonschema:"description=A URL answers with 200 and a certificate that stays valid for some days"`
	Flow   *FlowCheck   `yaml:"flow" json:"flow,omitempty" jsonschema:"description=Positions that a device publishes by MQTT reach the database and the API"`
	Reboot *RebootCheck `yaml:"reboot" json:"reboot,omitempty" jsonschema:"description=A reboot of the host while a device publishes loses no position; needs flow"`
}

// HTTPSCheck is the check https.
type HTTPSCheck struct {
	URL  string `yaml:"url" json:"url" jsonschema:"description=An https URL that answers with 200"`
	Days int    `yaml:"days" json:"days,omitempty" jsonschema:"minimum=1,description=The certificate must be valid for this many days. Default 7"`
}

// FlowCheck is the check flow.
type FlowCheck struct {
	Broker     string `yaml:"broker" json:"broker" jsonschema:"description=Name and port of the MQTT broker with TLS. Example: example.org:8883"`
	API        string `yaml:"api" json:"api" jsonschema:"description=URL of the API without a final slash. Example: https://example.org/api"`
	User       string `yaml:"user" json:"user" jsonschema:"description=MQTT user of the devices"`
	Credential string `yaml:"credential" json:"credential" jsonschema:"description=Variable in the credentials with the password of that user. Example: ANSIBLE_VAR_broker_verify_password"`
	Positions  int    `yaml:"positions" json:"positions,omitempty" jsonschema:"minimum=1,maximum=10000,description=Number of positions to publish. Default 100"`
}

// RebootCheck is the check reboot.
type RebootCheck struct {
	Host    string `yaml:"host" json:"host" jsonschema:"description=Name of the host to reboot"`
	Seconds int    `yaml:"seconds" json:"seconds,omitempty" jsonschema:"minimum=1,description=How long the system may be away. Default 600"`
}

// SSH says how the hosts, and the nodes of a cluster, are reached.
type SSH struct {
	Proxy string `yaml:"proxy" json:"proxy,omitempty" jsonschema:"description=URL of an HTTP proxy that reaches them; it need not be trusted"`
	Jump  string `yaml:"jump" json:"jump,omitempty" jsonschema:"description=Name of the host that is the bastion: the other hosts and the nodes are reached from it"`
}

// Review adds to the values that a plan shows.
type Review struct {
	Show []string `yaml:"show" json:"show" jsonschema:"minItems=1,description=Attributes whose values are not secret; as type.attribute or type.block.attribute. Example: openstack_compute_instance_v2.flavor_name"`
}

// Drift says which changes made outside of OpenTofu are expected, and until when.
type Drift struct {
	After  int      `yaml:"after" json:"after,omitempty" jsonschema:"minimum=1,description=Number of consecutive checks with the same result before an issue opens. Default 1"`
	Ignore []Ignore `yaml:"ignore" json:"ignore,omitempty" jsonschema:"minItems=1,description=Changes that are expected; each until a date"`
}

// An Ignore is one expected change.
type Ignore struct {
	Address    string   `yaml:"address" json:"address" jsonschema:"description=Address of the resource; or name of the node of the cluster"`
	Attributes []string `yaml:"attributes" json:"attributes,omitempty" jsonschema:"minItems=1,description=Only these attributes; or settings of the node. Default: the whole resource or node"`
	Until      string   `yaml:"until" json:"until" jsonschema:"format=date,description=Last day on which it is expected (UTC). Example: 2026-12-31"`
	Reason     string   `yaml:"reason" json:"reason" jsonschema:"description=Why it is expected"`
}

// Expired reports whether the date has passed.
func (i Ignore) Expired(now time.Time) bool { return now.UTC().Format(time.DateOnly) > i.Until }

// NeedCredentials refuses an environment with missing credentials.
func (e *Environment) NeedCredentials() error { return need(e.MissingCredentials) }

// NeedPlanCredentials does the same for the stages that only read. The other credentials must
// exist, too: a plan is sealed to their readers.
func (e *Environment) NeedPlanCredentials() error {
	return need(slices.Concat(e.MissingPlanCredentials, e.MissingCredentials))
}

// FilesToPlan returns the credential files for the stages that only read.
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
	// The environment's own file is the last of its list, and is created first: the templates of the
	// others may take the public half of a key from it.
	var files []string
	for _, file := range slices.Backward(missing) {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	const command = "dagger call secrets init --file="
	hint := command + strings.Join(files, " && "+command)
	if len(files) == 1 {
		return refuse(hint, "there is no file %s", files[0])
	}
	return refuse(hint, "there are no files %s", settings.Enumerate(files))
}

// Shown returns the attributes whose values a plan shows besides the built-in ones.
func (e *Environment) Shown() []string {
	if e.Review == nil {
		return nil
	}
	return e.Review.Show
}

// LayerName returns the layer's name within its environment.
func (e *Environment) LayerName(l Layer) string {
	if l.Path == "." {
		return e.Name
	}
	return l.Path
}

// Dir returns the layer's root module, relative to the repository's root.
func (e *Environment) Dir(l Layer) string { return path.Join("environments", e.Name, l.Path) }

// StateKey returns the name of the layer's state in the store. It follows from the names and cannot
// be configured, so that no environment can use another's state.
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
			return nil, refuse("name one of "+printable.Line(settings.Enumerate(known)), "no environment was given")
		}
		if found, mode, err := settings.Look(repository, "environments/"+name); err == nil && mode&fs.ModeSymlink != 0 {
			return nil, refuse(settings.ReplaceLink(found), "%s is a symbolic link", found)
		}
		return nil, refuse(printable.Line(settings.DidYouMean(name, known)+"the environments are "+settings.Enumerate(known)), "there is no environment %q", name)
	}
	if !ValidName(name) {
		return nil, refuse("rename the folder, lower-case letters, digits and dashes, at most 32: git mv -- "+printable.Word("environments/"+name)+" environments/<name>", "%q cannot be the name of an environment", name)
	}
	s := &source{settings.Source{
		Path: "environments/" + name + "/environment.yaml", Check: listCommand, Secrets: "credentials/" + name + ".enc.env",
		Least: "`state:`; the keys are in environments/environment.schema.json", Empty: "layers",
	}}
	mode, there, err := s.Find(repository, "", s.Path)
	if err != nil {
		return nil, err
	}
	if !there || !mode.IsRegular() {
		return nil, refuse("$EDITOR "+printable.Word(s.Path), "there is no file %s", s.Path)
	}
	data, err := fs.ReadFile(repository, s.Path)
	if err != nil {
		return nil, err
	}
	e := &Environment{Name: name}
	if err := s.Decode(data, e); err != nil {
		return nil, err
	}
	if !s.Has("layers") {
		e.Layers = []Layer{{Path: "."}}
	}
	return e, s.check(repository, e)
}
