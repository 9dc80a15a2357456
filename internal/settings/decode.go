// Package settings reads the YAML files that people write. It is strict: every mistake is refused with
// its line and what to write instead.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"slipway/internal/fault"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Source is a file that is being decoded. It records the line of every value, so that a later
// check can still report it.
type Source struct {
	Path    string // relative to the repository's root
	Check   string // the command that checks it again
	Secrets string // the credentials file that hints name
	Least   string // what it has to contain at least, and where its keys are listed
	Output  bool   // it is an output of a layer, which has no lines
	Empty   string // the only list that may be empty

	lines map[string]int // by path of the value, such as state.s3.bucket or layers[0]
}

// Edit returns the hint for a fault in the file itself: what to write, and the command that checks it
// again.
func (s *Source) Edit(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + "; then check it: " + s.Check
}

// Has reports whether the file has a value at that path.
func (s *Source) Has(at string) bool { return s.lines[at] != 0 }

// Refuse reports the line of the value at that path, or of its nearest parent.
func (s *Source) Refuse(at, hint, format string, args ...any) error {
	for at != "" && s.lines[at] == 0 {
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	if at == "" {
		return fault.Refuse(hint, s.Path+": "+format, args...)
	}
	return s.refuseLine(s.lines[at], hint, format, args...)
}

func (s *Source) refuseLine(line int, hint, format string, args ...any) error {
	if s.Output {
		return fault.Refuse(hint, s.Path+": "+format, args...)
	}
	return fault.Refuse(hint, fmt.Sprintf("%s:%d: ", s.Path, line)+format, args...)
}

// Decode reads one YAML document into the struct. The yaml package's strict mode is not enough: it
// accepts "yes" for true and 1 for "1", and gives no hints.
func (s *Source) Decode(data []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && document.Content[0].ShortTag() == "!!null" {
		return fault.Refuse(s.Edit("write at least %s", s.Least), "%s is empty", s.Path)
	}
	if err != nil {
		return s.refuseSyntax(err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return s.refuseLine(second.Line, s.Edit("keep one of them, and delete the line `---` after it"), "a second YAML document begins here")
	} else if !errors.Is(err, io.EOF) {
		return s.refuseSyntax(err)
	}
	s.lines = map[string]int{}
	return s.value(document.Content[0], document.Content[0].Line, "", reflect.ValueOf(into).Elem())
}

var syntaxPattern = regexp.MustCompile(`^(?:yaml: )?(?:line ([0-9]+): )?(.*)$`)

func (s *Source) refuseSyntax(err error) error {
	parts := syntaxPattern.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	place := s.Path
	if parts[1] != "" {
		place += ":" + parts[1]
	}
	return fault.Refuse(s.Edit("fix the YAML on that line or the one above it"), "%s: invalid YAML: %s", place, parts[2])
}

// value decodes a node into a value of exactly its kind.
func (s *Source) value(node *yaml.Node, line int, at string, into reflect.Value) error {
	s.lines[at] = line
	if err := s.refuseAnchor(node); err != nil {
		return err
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return s.value(node, line, at, into.Elem())
	case reflect.Struct:
		if node.ShortTag() != "!!map" || node.Kind != yaml.MappingNode {
			return s.refuseType(node, line, at, "keys and values", "write `key: value` lines below it")
		}
		return s.mapping(node, at, into)
	case reflect.Slice:
		if node.ShortTag() != "!!seq" || node.Kind != yaml.SequenceNode {
			return s.refuseType(node, line, at, "a list", "write a list, such as [a, b]")
		}
		return s.list(node, line, at, into)
	case reflect.Bool:
		text := strings.ToLower(node.Value)
		if node.ShortTag() != "!!bool" || text != "true" && text != "false" {
			return s.refuseType(node, line, at, "true or false", "write true or false")
		}
		into.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.Atoi(node.Value)
		if node.ShortTag() != "!!int" || err != nil {
			return s.refuseType(node, line, at, "a whole number", "write a number, such as 2")
		}
		into.SetInt(int64(n))
	case reflect.String:
		// An unquoted date is text to us, though not to YAML 1.1.
		if tag := node.ShortTag(); tag != "!!str" && tag != "!!timestamp" || node.Kind != yaml.ScalarNode {
			return s.refuseType(node, line, at, "text", "write text, in quotes where it looks like something else")
		}
		into.SetString(node.Value)
	default:
		panic("no rule to decode a " + into.Kind().String())
	}
	return nil
}

func (s *Source) list(node *yaml.Node, line int, at string, into reflect.Value) error {
	if len(node.Content) == 0 && at != s.Empty {
		return s.refuseLine(line, s.Edit("name at least one, or delete the line"), "%s is an empty list", at)
	}
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		if err := s.value(item, item.Line, fmt.Sprintf("%s[%d]", at, i), into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) mapping(node *yaml.Node, at string, into reflect.Value) error {
	fields := fieldsByKey(into)
	seen := map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if err := s.refuseAnchor(key); err != nil {
			return err
		}
		field, known := fields[key.Value]
		if !known || key.ShortTag() != "!!str" || key.Kind != yaml.ScalarNode {
			return s.refuseKey(key, at, fields)
		}
		if first := seen[key.Value]; first != 0 {
			return s.refuseLine(key.Line, s.Edit("keep one of the two lines"), "the key %q is already on line %d", key.Value, first)
		}
		seen[key.Value] = key.Line
		place := key.Value
		if at != "" {
			place = at + "." + place
		}
		if err := s.value(node.Content[i+1], key.Line, place, field); err != nil {
			return err
		}
	}
	return nil
}

// fieldsByKey returns the struct's fields that the file may set.
func fieldsByKey(value reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range value.NumField() {
		key, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("yaml"), ",")
		if key != "-" {
			fields[key] = value.Field(i)
		}
	}
	return fields
}

var secretPattern = regexp.MustCompile(`(?i)secret|passw|passphrase|token|signature|^sig$|user_?name|(access|account|age|api|auth|private|ssh).?key`)

// SecretName reports whether people give such a name to a secret.
func SecretName(name string) bool { return secretPattern.MatchString(name) }

func (s *Source) refuseKey(key *yaml.Node, at string, fields map[string]reflect.Value) error {
	where := ""
	if at != "" {
		where = " in " + at
	}
	if SecretName(key.Value) {
		return s.refuseLine(key.Line, s.KeepSecret(), "unknown key %q%s", key.Value, where)
	}
	var known []string
	for k := range fields {
		known = append(known, k)
	}
	slices.Sort(known)
	hint := s.Edit("%sthe keys are %s", DidYouMean(key.Value, known), Enumerate(known))
	return s.refuseLine(key.Line, hint, "unknown key %q%s", key.Value, where)
}

// KeepSecret is the hint for a value that must not be in a file that everyone can read.
func (s *Source) KeepSecret() string {
	return "a secret belongs in credentials/, and one that was committed must be changed: dagger call secrets edit --file=" + s.Secrets
}

// refuseType never shows the text: it may be a secret on the wrong line.
func (s *Source) refuseType(node *yaml.Node, line int, at, want, hint string) error {
	if at == "" {
		at = "the file"
	}
	if node.ShortTag() == "!!null" {
		return s.refuseLine(line, s.Edit("give it a value or delete the line"), "%s has no value, want %s", at, want)
	}
	return s.refuseLine(line, s.Edit("%s", hint), "%s is %s, want %s", at, describe(node), want)
}

func describe(node *yaml.Node) string {
	switch node.ShortTag() {
	case "!!map":
		return "keys and values"
	case "!!seq":
		return "a list"
	case "!!str":
		return "text"
	case "!!bool", "!!int", "!!float", "!!timestamp":
		return node.Value
	}
	return "of type " + node.ShortTag()
}

// refuseAnchor keeps the file small and readable line by line: nested references can grow without
// bound.
func (s *Source) refuseAnchor(node *yaml.Node) error {
	if node.Anchor == "" && node.Kind != yaml.AliasNode {
		return nil
	}
	sign, name := "&", node.Anchor
	if node.Kind == yaml.AliasNode {
		sign, name = "*", node.Value
	}
	return s.refuseLine(node.Line, s.Edit("write the value itself where it is needed"), "the YAML reference %q is not supported", sign+name)
}
