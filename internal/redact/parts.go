package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// most is the maximum length of a value that is read as YAML, whose parser is slow.
	most = 256 << 10
	// mostLines is how many lines of a value are recognised on their own.
	mostLines = 64
)

// Parts returns the secrets inside a secret value: the leaves of JSON, YAML and dotenv, the
// passwords of URLs and connection strings, each of several private keys, and lines. structured
// means that the rest of the value is not secret on its own.
func Parts(value string) (parts []string, structured bool) {
	for _, read := range []func(string) ([]string, bool){jsonParts, pemParts, yamlParts, dotenvParts} {
		if parts, ok := read(value); ok {
			return parts, true
		}
	}
	if parts, ok := addressParts(value); ok {
		return parts, true
	}
	if text := decode64(value); strings.HasPrefix(text, "-----BEGIN ") {
		parts = append(parts, text)
	}
	if len(value) <= lined && strings.Count(value, "\n") <= mostLines && strings.Contains(value, "\n") {
		shown := publicTexts(value)
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			public := slices.ContainsFunc(shown, func(text string) bool { return strings.Contains(text, line) })
			if len(line) >= shortest && !strings.HasPrefix(line, "-----") && !public && Leaf("", false, line) {
				parts = append(parts, line)
			}
		}
	}
	return parts, false
}

// leaf adds what is secret in a leaf. A leaf that has parts itself is searched, whatever its name
// is.
func leaf(parts []string, name string, within bool, value string) []string {
	if Leaf(name, within, value) {
		parts = append(parts, value)
		if name == "auth" { // Docker registry credentials
			if _, password, ok := strings.Cut(decode64(value), ":"); ok {
				parts = append(parts, password)
			}
		}
		return parts
	}
	if inner, ok := Parts(value); ok {
		parts = append(parts, inner...)
	}
	return parts
}

// decode64 returns "" if the value is not base64.
func decode64(value string) string {
	data, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// jsonParts reads token by token, so that a value is read only once, however deeply it is nested.
func jsonParts(value string) (parts []string, ok bool) {
	if !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") && !strings.HasPrefix(value, `"`) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.UseNumber()
	type level struct {
		object, key bool // key: the next token is a key
		name        string
		within      bool // below a name for secrets
	}
	stack := []level{{}}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return parts, len(stack) == 1
		}
		if err != nil {
			return nil, false
		}
		top := &stack[len(stack)-1]
		if top.object && top.key {
			if name, isKey := token.(string); isKey {
				top.name, top.key = name, false
				if Key(name) {
					parts = append(parts, name)
				}
				continue
			}
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '}' || token == ']' {
				stack = stack[:len(stack)-1]
				stack[len(stack)-1].key = true
				continue
			}
			stack = append(stack, level{object: token == '{', key: true, name: top.name, within: top.within || SecretName(top.name)})
			continue
		case string:
			parts = leaf(parts, top.name, top.within, token)
		case json.Number:
			parts = leaf(parts, top.name, top.within, token.String())
		}
		top.key = true
	}
}

// pemParts returns each of several private keys.
func pemParts(value string) (parts []string, ok bool) {
	blocks := pemBlock.FindAllString(value, -1)
	for _, block := range blocks {
		if !publicBlock(block) {
			parts = append(parts, block)
		}
	}
	return parts, len(blocks) > 1 && len(strings.TrimSpace(pemBlock.ReplaceAllString(value, ""))) == 0
}

var yamlLine = regexp.MustCompile(`(?m)^\s*([{\[]\s*|- )?[\w."'/-]+:(\s|$)`)

func yamlParts(value string) (parts []string, ok bool) {
	if len(value) > most || !yamlLine.MatchString(value) {
		return nil, false
	}
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(value)))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return parts, true
		}
		if err != nil || slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode }) {
			return nil, false
		}
		parts = nodeParts(parts, "", false, &node)
	}
}

// nodeParts does not follow aliases: their targets are read where they are defined.
func nodeParts(parts []string, name string, within bool, node *yaml.Node) []string {
	switch node.Kind {
	case yaml.ScalarNode:
		return leaf(parts, name, within, node.Value)
	case yaml.MappingNode:
		within = within || SecretName(name)
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i].Value; Key(key) {
				parts = append(parts, key)
			}
			parts = nodeParts(parts, node.Content[i].Value, within, node.Content[i+1])
		}
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, child := range node.Content {
			parts = nodeParts(parts, name, within, child)
		}
	}
	return parts
}

var dotenvLine = regexp.MustCompile(`^(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)$`)

// dotenvParts reads NAME=value lines, also below [sections] as in an INI file.
func dotenvParts(value string) (parts []string, ok bool) {
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			continue
		}
		m := dotenvLine.FindStringSubmatch(line)
		if m == nil {
			return nil, false
		}
		ok = true
		text := m[2]
		if len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
			text = text[1 : len(text)-1]
		}
		parts = leaf(parts, m[1], false, text)
	}
	return parts, ok && (len(parts) > 0 || strings.Contains(value, "\n"))
}

var (
	userinfo = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#@]*)@`)
	// A password that should have been escaped but was not.
	unescaped = regexp.MustCompile(`://[^\s/?#@:]*:(\S+)@`)
	anyURL    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]+`)
	mysql     = regexp.MustCompile(`^[^\s:@/]+:(\S+)@(?:(?:tcp|tcp6|unix)\([^)]*\)|[A-Za-z0-9.-]+(?::[0-9]+)?)/\S*$`)
	parameter = regexp.MustCompile(`([A-Za-z_][\w .-]*?)\s*=\s*("[^"]*"|'[^']*'|[^\s;&,"']+)`)
)

// addressParts returns the passwords in a URL or another kind of connection string. Host, port,
// user and database are not secret.
func addressParts(value string) (parts []string, ok bool) {
	if len(value) > lined || strings.Contains(value, "\n") {
		return nil, false
	}
	all := userinfo.FindAllStringSubmatch(value, -1)
	for _, m := range all {
		user, password, two := strings.Cut(m[1], ":")
		if !two {
			// A token may be used as the user name.
			parts = leaf(parts, "", false, user)
			continue
		}
		parts = escaped(parts, password)
	}
	if len(all) == 0 {
		if m := unescaped.FindStringSubmatch(value); m != nil {
			parts = append(parts, m[1])
		} else if m := mysql.FindStringSubmatch(value); m != nil {
			parts, ok = append(parts, m[1]), true
		}
	}
	for _, m := range parameter.FindAllStringSubmatch(value, -1) {
		if text := strings.Trim(m[2], `"'`); secretName.MatchString(m[1]) && Leaf(m[1], false, text) {
			parts = escaped(parts, text)
			ok = ok || strings.Count(value, "=") > 1
		}
	}
	return parts, ok || anyURL.MatchString(value)
}

// escaped adds a password as it is written in a URL and unescaped.
func escaped(parts []string, password string) []string {
	parts = append(parts, password)
	if plain, err := url.PathUnescape(password); err == nil && plain != password {
		parts = append(parts, plain)
	}
	return parts
}
