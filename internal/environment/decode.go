package environment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A source is a file that is being decoded. It records the line of every value, so that a later
// check can still report it.
type source struct {
	path        string         // relative to the repository's root
	environment string         // owner of the credentials file that hints name
	lines       map[string]int // by path of the value, such as state.s3.bucket or layers[0]
}

// refuse reports the line of the value at that path, or of its nearest parent.
func (s *source) refuse(at, hint, format string, args ...any) error {
	for at != "" && s.lines[at] == 0 {
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	if at == "" {
		return refuse(hint, s.path+": "+format, args...)
	}
	return s.refuseLine(s.lines[at], hint, format, args...)
}

func (s *source) refuseLine(line int, hint, format string, args ...any) error {
	return refuse(hint, fmt.Sprintf("%s:%d: ", s.path, line)+format, args...)
}

// decode reads one YAML document into the struct. The yaml package's strict mode is not enough: it
// accepts "yes" for true and 1 for "1", and gives no hints.
func (s *source) decode(data []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && document.Content[0].ShortTag() == "!!null" {
		return refuse(edit("write at least `state:`; the keys are in environments/environment.schema.json"), "%s is empty", s.path)
	}
	if err != nil {
		return s.refuseSyntax(err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return s.refuseLine(second.Line, edit("keep one of them, and delete the line `---` after it"), "a second YAML document begins here")
	} else if !errors.Is(err, io.EOF) {
		return s.refuseSyntax(err)
	}
	s.lines = map[string]int{}
	return s.value(document.Content[0], document.Content[0].Line, "", reflect.ValueOf(into).Elem())
}

var syntaxPattern = regexp.MustCompile(`^(?:yaml: )?(?:line ([0-9]+): )?(.*)$`)

func (s *source) refuseSyntax(err error) error {
	parts := syntaxPattern.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	place := s.path
	if parts[1] != "" {
		place += ":" + parts[1]
	}
	return refuse(edit("fix the YAML on that line or the one above it"), "%s: invalid YAML: %s", place, parts[2])
}

// value decodes a node into a value of exactly its kind.
func (s *source) value(node *yaml.Node, line int, at string, into reflect.Value) error {
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

func (s *source) list(node *yaml.Node, line int, at string, into reflect.Value) error {
	if len(node.Content) == 0 {
		return s.refuseLine(line, edit("name at least one, or delete the line"), "%s is an empty list", at)
	}
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		if err := s.value(item, item.Line, fmt.Sprintf("%s[%d]", at, i), into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) mapping(node *yaml.Node, at string, into reflect.Value) error {
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
			return s.refuseLine(key.Line, edit("keep one of the two lines"), "the key %q is already on line %d", key.Value, first)
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

// secretPattern matches the names that people give to secrets.
var secretPattern = regexp.MustCompile(`(?i)secret|passw|passphrase|token|signature|^sig$|user_?name|(access|account|age|api|auth|private|ssh).?key`)

func (s *source) refuseKey(key *yaml.Node, at string, fields map[string]reflect.Value) error {
	where := ""
	if at != "" {
		where = " in " + at
	}
	if secretPattern.MatchString(key.Value) {
		return s.refuseLine(key.Line, s.keepSecret(), "unknown key %q%s", key.Value, where)
	}
	var known []string
	for k := range fields {
		known = append(known, k)
	}
	slices.Sort(known)
	hint := edit("%sthe keys are %s", didYouMean(key.Value, known), enumerate(known))
	return s.refuseLine(key.Line, hint, "unknown key %q%s", key.Value, where)
}

// keepSecret is the hint for a value that must not be in a file that everyone can read.
func (s *source) keepSecret() string {
	return "a secret belongs in credentials/, and one that was committed must be changed: " + editCommand + "credentials/" + s.environment + ".enc.env"
}

// refuseType never shows the text: it may be a secret on the wrong line.
func (s *source) refuseType(node *yaml.Node, line int, at, want, hint string) error {
	if at == "" {
		at = "the file"
	}
	if node.ShortTag() == "!!null" {
		return s.refuseLine(line, edit("give it a value or delete the line"), "%s has no value, want %s", at, want)
	}
	return s.refuseLine(line, edit("%s", hint), "%s is %s, want %s", at, describe(node), want)
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
func (s *source) refuseAnchor(node *yaml.Node) error {
	if node.Anchor == "" && node.Kind != yaml.AliasNode {
		return nil
	}
	sign, name := "&", node.Anchor
	if node.Kind == yaml.AliasNode {
		sign, name = "*", node.Value
	}
	return s.refuseLine(node.Line, edit("write the value itself where it is needed"), "the YAML reference %q is not supported", sign+name)
}
