// Package foreign finds what an environment's code would run besides OpenTofu: programs, remote
// modules and unknown providers. It reads the code in the same way as OpenTofu and runs nothing.
package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"slipway/internal/fault"
	"slipway/internal/printable"
)

// The kinds of findings, as they are called in environment.yaml under allow.
const (
	Program  = "programs"
	Module   = "modules"
	Provider = "providers"
)

// A Finding is one place in the code.
type Finding struct {
	Kind string
	Name string // what environment.yaml has to list to allow it; empty if it cannot be allowed
	What string // the first half of a sentence: `data "external" "x" runs a program`
	Hint string // for a finding that cannot be allowed
	File string // relative to the root of the file system
	Line int
}

// Find inspects the root module in dir and all local modules that it calls. It refuses code that it
// cannot read.
func Find(fsys fs.FS, dir string) ([]Finding, error) {
	var all []Finding
	seen := map[string]bool{}
	for todo := []string{dir}; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		findings, calls, err := Folder(fsys, todo[0])
		if err != nil {
			return nil, err
		}
		all = append(all, findings...)
		todo = append(todo, calls...)
	}
	return all, nil
}

// Folder inspects one module, and returns the folders of the local modules that it calls.
func Folder(fsys fs.FS, dir string) (findings []Finding, calls []string, err error) {
	m := &module{dir: dir, sources: map[string]string{}}
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // OpenTofu reports this better
	}
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || !slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(name, e) }) {
			continue
		}
		file := path.Join(dir, name)
		if info, err := fs.Stat(fsys, file); err == nil && info.IsDir() {
			continue
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, nil, err
		}
		parser := hclparse.NewParser()
		parse := parser.ParseHCL
		if strings.HasSuffix(name, ".json") {
			parse = parser.ParseJSON
		}
		parsed, diagnostics := parse(text, file)
		if diagnostics.HasErrors() {
			return nil, nil, unreadable(file, diagnostics)
		}
		if err := m.file(parsed.Body); err != nil {
			return nil, nil, err
		}
	}
	m.judgeProviders()
	for _, b := range m.providers {
		if err := m.judgeSettings(b); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(m.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.What, b.What))
	})
	return m.findings, m.calls, nil
}

// extensions of the files that OpenTofu reads.
var extensions = []string{".tf", ".tofu", ".tf.json", ".tofu.json"}

func unreadable(file string, diagnostics hcl.Diagnostics) error {
	for _, d := range diagnostics {
		if d.Severity == hcl.DiagError {
			line := 1
			if d.Subject != nil {
				file, line = d.Subject.Filename, d.Subject.Start.Line
			}
			return fault.Refuse("tofu fmt -check -diff "+printable.Word(path.Dir(file)), "%s:%d: cannot be parsed: %s", file, line, strings.ToLower(d.Summary[:1])+d.Summary[1:])
		}
	}
	return nil
}

// A module is the module being inspected.
type module struct {
	dir      string
	findings []Finding
	calls    []string
	sources  map[string]string // sources of the required providers, by local name
	uses     []use             // uses of providers, by local name

	providers []*hcl.Block // provider blocks
}

type use struct {
	name string
	at   hcl.Range
}

func (m *module) found(at hcl.Range, kind, name, format string, args ...any) {
	m.findings = append(m.findings, Finding{Kind: kind, Name: name, What: fmt.Sprintf(format, args...), File: at.Filename, Line: at.Start.Line})
}

// never records a finding that no environment can allow.
func (m *module) never(at hcl.Range, hint, format string, args ...any) {
	m.findings = append(m.findings, Finding{What: fmt.Sprintf(format, args...), Hint: hint, File: at.Filename, Line: at.Start.Line})
}

func blocks(types ...hcl.BlockHeaderSchema) *hcl.BodySchema { return &hcl.BodySchema{Blocks: types} }

func block(kind string, labels ...string) hcl.BlockHeaderSchema {
	return hcl.BlockHeaderSchema{Type: kind, LabelNames: labels}
}

var topLevel = blocks(
	block("terraform"), block("provider", "name"), block("module", "name"), block("check", "name"), block("removed"),
	block("resource", "type", "name"), block("data", "type", "name"), block("ephemeral", "type", "name"), block("action", "type", "name"),
)

func content(body hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, error) {
	found, _, diagnostics := body.PartialContent(schema)
	if diagnostics.HasErrors() {
		return nil, unreadable(body.MissingItemRange().Filename, diagnostics)
	}
	return found, nil
}

func (m *module) file(body hcl.Body) error {
	found, err := content(body, topLevel)
	if err != nil {
		return err
	}
	for _, b := range found.Blocks {
		look := m.resource
		switch b.Type {
		case "terraform":
			look = m.terraform
		case "provider":
			look = m.provider
		case "module":
			look = m.call
		case "check":
			look = m.check
		}
		if err := look(b); err != nil {
			return err
		}
	}
	return nil
}

// check inspects a check block, which may contain a data source.
func (m *module) check(b *hcl.Block) error {
	found, err := content(b.Body, blocks(block("data", "type", "name")))
	if err != nil {
		return err
	}
	for _, data := range found.Blocks {
		if err := m.resource(data); err != nil {
			return err
		}
	}
	return nil
}

// resource inspects a resource, a data source or a similar block.
func (m *module) resource(b *hcl.Block) error {
	schema := blocks(block("provisioner", "type"))
	schema.Attributes = []hcl.AttributeSchema{{Name: "provider"}}
	found, err := content(b.Body, schema)
	if err != nil {
		return err
	}
	for _, p := range found.Blocks {
		m.found(p.DefRange, Program, p.Labels[0], "provisioner %q runs a program", p.Labels[0])
	}
	if len(b.Labels) == 0 { // a removed block
		return nil
	}
	kind := b.Labels[0]
	if b.Type == "data" && kind == "external" {
		m.found(b.DefRange, Program, "external", `data "external" runs a program`)
		return nil
	}
	if b.Type == "data" && kind == "terraform_remote_state" {
		return m.remoteState(b)
	}
	name, _, _ := strings.Cut(kind, "_")
	if attribute := found.Attributes["provider"]; attribute != nil {
		if chosen := localName(attribute.Expr); chosen != "" {
			name = chosen
		}
	}
	m.uses = append(m.uses, use{name, b.DefRange})
	return nil
}

// localName returns the provider's local name in an expression such as ovh.west.
func localName(expression hcl.Expression) string {
	if traversal, diagnostics := hcl.AbsTraversalForExpr(expression); !diagnostics.HasErrors() {
		return traversal.RootName()
	}
	// In ovh.by_region[each.key], the indexed variable comes first.
	for _, traversal := range expression.Variables() {
		return traversal.RootName()
	}
	return ""
}

// provider records a provider block. Which provider it configures may be defined in another file.
func (m *module) provider(b *hcl.Block) error {
	m.uses = append(m.uses, use{b.Labels[0], b.DefRange})
	m.providers = append(m.providers, b)
	return nil
}

// judgeSettings inspects a provider block once it is known which provider it configures.
func (m *module) judgeSettings(b *hcl.Block) error {
	source := cmp.Or(m.sources[b.Labels[0]], b.Labels[0])
	if !strings.HasSuffix(Address(source), "/hashicorp/aws") {
		return nil
	}
	return m.credentialProcess(b)
}

// awsFiles are the settings that refer to AWS configuration files, which can make the AWS library
// run a program to get keys.
var awsFiles = []string{"profile", "shared_config_files", "shared_credentials_files", "shared_credentials_file"}

func (m *module) credentialProcess(b *hcl.Block) error {
	schema := &hcl.BodySchema{}
	for _, name := range awsFiles {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
	}
	found, err := content(b.Body, schema)
	if err != nil {
		return err
	}
	for _, attribute := range found.Attributes {
		m.leads(attribute.NameRange, attribute.Name)
	}
	return nil
}

func (m *module) leads(at hcl.Range, name string) {
	m.found(at, Program, "credential-process", "%s refers to a file that can name a program to run", name)
}

// remoteState inspects the backend settings from which another state is read.
func (m *module) remoteState(b *hcl.Block) error {
	found, err := content(b.Body, &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "config"}}})
	if err != nil || found.Attributes["config"] == nil {
		return err
	}
	config := found.Attributes["config"]
	pairs, diagnostics := hcl.ExprMap(config.Expr)
	if diagnostics.HasErrors() {
		m.leads(config.NameRange, "config, which is not a literal,")
		return nil
	}
	for _, pair := range pairs {
		name := hcl.ExprAsKeyword(pair.Key)
		if name == "" {
			name, _ = text(pair.Key)
		}
		if name == "" || slices.Contains(awsFiles, name) {
			m.leads(pair.Key.Range(), cmp.Or(name, "a key that is not a literal"))
		}
	}
	return nil
}

// terraform inspects the settings of OpenTofu itself.
func (m *module) terraform(b *hcl.Block) error {
	found, err := content(b.Body, blocks(block("required_providers"), block("encryption"), block("backend", "type")))
	if err != nil {
		return err
	}
	for _, inner := range found.Blocks {
		switch inner.Type {
		case "required_providers":
			err = m.required(inner)
		case "encryption":
			err = m.encryption(inner)
		case "backend":
			err = m.credentialProcess(inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encryption looks for keys and methods that come from an external program.
func (m *module) encryption(b *hcl.Block) error {
	found, err := content(b.Body, blocks(block("key_provider", "type", "name"), block("method", "type", "name")))
	if err != nil {
		return err
	}
	for _, inner := range found.Blocks {
		if inner.Labels[0] == "external" {
			m.found(inner.DefRange, Program, "external", `%s "external" runs a program`, inner.Type)
		}
	}
	return nil
}

// text returns the value of an expression that is a literal.
func text(expression hcl.Expression) (string, bool) {
	value, diagnostics := expression.Value(nil)
	if diagnostics.HasErrors() || value.IsNull() || !value.IsKnown() || value.Type().FriendlyName() != "string" {
		return "", false
	}
	return value.AsString(), true
}

// call inspects a module call.
func (m *module) call(b *hcl.Block) error {
	found, err := content(b.Body, &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}, {Name: "version"}}})
	if err != nil {
		return err
	}
	attribute := found.Attributes["source"]
	if attribute == nil {
		return nil // OpenTofu refuses this, or in an override file the source is in another file
	}
	at := attribute.NameRange
	source, ok := text(attribute.Expr)
	if !ok {
		m.never(at, "write the source of the module as a literal, without variables", "the source of module %q is not a literal", b.Labels[0])
		return nil
	}
	if strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") {
		to := path.Join(m.dir, source)
		if !fs.ValidPath(to) {
			m.never(at, "copy the module below modules/", "module %q is outside of the repository", b.Labels[0])
			return nil
		}
		m.calls = append(m.calls, to)
		return nil
	}
	if strings.HasPrefix(source, "/") || strings.HasPrefix(source, "file:") {
		m.never(at, "copy the module below modules/", "module %q is outside of the repository", b.Labels[0])
		return nil
	}
	version := ""
	if attribute := found.Attributes["version"]; attribute != nil {
		version, _ = text(attribute.Expr)
	}
	if fault := unpinned(source, version); fault != "" {
		m.found(at, Module, source, "module %q is remote, %s", b.Labels[0], fault)
	}
	return nil
}
