package redact

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

// TestPartsOf: the secrets in a value, and whether the rest is secret on its own.
func TestPartsOf(t *testing.T) {
	base := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	key := strings.TrimSpace(privateKey)
	// The maximum length of a value that is read as YAML or as a URL.
	yamlOf := func(n int) string { return "password: s3cr3t-1\n#" + strings.Repeat("x", n-20) }
	urlOf := func(n int) string { return "https://me:s3cr3t-1@a.example.org/" + strings.Repeat("x", n-34) }
	linesOf := func(lines, length int) (string, []string) {
		list := slices.Repeat([]string{"line-with-a-1"}, lines)
		rest := length - lines*len("line-with-a-1\n")
		return strings.Join(list, "\n") + "\n" + strings.Repeat(" ", rest), list
	}
	most, each := linesOf(mostLines, 2000)
	more, _ := linesOf(mostLines+1, 2000)
	long, two := linesOf(2, lined)
	longer, _ := linesOf(2, lined+1)
	for name, c := range map[string]struct {
		value      string
		parts      []string
		structured bool
	}{
		"a word":            {"backend", nil, false},
		"a token":           {"a-token-of-1-line", nil, false},
		"base64":            {base("user:password-1"), nil, false},
		"a key in base64":   {base(privateKey), []string{privateKey}, false},
		"that, and more":    {base(privateKey)[:40] + "!", nil, false},
		"lines":             {"first-password-1\nexample.org\nlong-one\nshort-1\n", []string{"first-password-1", "long-one"}, false},
		"as many as can be": {most, each, false},
		"more lines":        {more, nil, false},
		"as long":           {long, two, false},
		"longer":            {longer, nil, false},
		"a list of lines":   {"- first-item-1\n- second-item-2", []string{"- first-item-1", "- second-item-2"}, false},

		"JSON text":             {`"quoted-secret-1"`, []string{"quoted-secret-1"}, true},
		"JSON number":           {`{"pin": 12345678901234567890, "size": 12}`, []string{"12345678901234567890"}, true},
		"JSON below a name":     {`{"passwords": {"prod": {"app": "word"}}, "sizes": {"prod": {"app": "word"}}}`, []string{"word"}, true},
		"JSON with a URL":       {`{"url": "postgres://a:s3cr3t-1@db.example.org/app", "uri": "first-line-1\nsecond-line-2"}`, []string{"s3cr3t-1"}, true},
		"JSON of a registry":    {`{"auth": "` + base("me:pw-of-me") + `"}`, []string{base("me:pw-of-me"), "pw-of-me"}, true},
		"JSON of a token":       {`{"auth": "` + base("a-token-alone") + `"}`, []string{base("a-token-alone")}, true},
		"JSON with base64":      {`{"token": "` + base("me:pw-of-me") + `"}`, []string{base("me:pw-of-me")}, true},
		"JSON, not to the end":  {`{"password": "s3cr3t-1"`, nil, false},
		"JSON, and more":        {`{"password": "s3cr3t-1"} s3cr3t-2`, nil, false},
		"YAML below a name":     {"passwords:\n  prod:\n    app: word\nsizes:\n  app: word\n", []string{"word"}, true},
		"YAML with a key":       {"tokens:\n  tok-8f3k2j9d1s: x\n", []string{"tok-8f3k2j9d1s"}, true},
		"YAML, two documents":   {"password: s3cr3t-1\n---\n- password: s3cr3t-2\n", []string{"s3cr3t-1", "s3cr3t-2"}, true},
		"YAML, and a scalar":    {"password: s3cr3t-1\n---\ns3cr3t scalar\n", []string{"password: s3cr3t-1", "s3cr3t scalar"}, false},
		"no YAML":               {"password: s3cr3t-1\n  x: [\n", []string{"password: s3cr3t-1"}, false},
		"YAML as long as it is": {yamlOf(most256), []string{"s3cr3t-1"}, true},
		"YAML that is longer":   {yamlOf(most256 + 1), nil, false},
		"a key and another":     {privateKey + certificate, []string{key}, true},
		"certificates":          {certificate + certificate, nil, true},
		"one key":               {key, []string{"MC4CAQAwBQYDK2VwBCIEIprivatekey0"}, false},
		"keys and more":         {privateKey + certificate + "s3cr3t-behind-1", []string{"MC4CAQAwBQYDK2VwBCIEIprivatekey0", "MIIBszCCAVmgAwIBAgIUcertificate0", "s3cr3t-behind-1"}, false},

		"an assignment":          {"PASSWORD=s3cr3t-1", []string{"s3cr3t-1"}, true},
		"one without a secret":   {"USER=backend", nil, false},
		"several without":        {"USER=backend\nHOST=db.example.org\n", nil, true},
		"with a blank line":      {"\nPASSWORD=s3cr3t-1\n", []string{"s3cr3t-1"}, true},
		"with a comment":         {"# PASSWORD, see\nPASSWORD=s3cr3t-1\n", []string{"s3cr3t-1"}, true},
		"with one of INI":        {"; PASSWORD, see\nPASSWORD=s3cr3t-1\n", []string{"s3cr3t-1"}, true},
		"with a section":         {"[default]\nPASSWORD=s3cr3t-1\n", []string{"s3cr3t-1"}, true},
		"with half of one":       {"[default\nPASSWORD=s3cr3t-1\n", []string{"PASSWORD=s3cr3t-1", "[default"}, false},
		"with the other half":    {"default]\nPASSWORD=s3cr3t-1\n", []string{"PASSWORD=s3cr3t-1", "default]"}, false},
		"comments alone":         {"# comment-1\n# comment-2\n", []string{"# comment-1", "# comment-2"}, false},
		"indented":               {"  PASSWORD=s3cr3t-1  \n\tTOKEN = s3cr3t-2\n", []string{"s3cr3t-1", "s3cr3t-2"}, true},
		"in quotes":              {"PASSWORD=\"s3cr3t-1\"\nTOKEN='s3cr3t-2'\n", []string{"s3cr3t-1", "s3cr3t-2"}, true},
		"in half of them":        {"PASSWORD=\"s3cr3t-1\nTOKEN='s3cr3t-2\"\n", []string{"\"s3cr3t-1", "'s3cr3t-2\""}, true},
		"in what is no quote":    {"PASSWORD=xs3cr3tx\n", []string{"xs3cr3tx"}, true},
		"nothing, and one quote": {"PASSWORD=\nTOKEN=\"\n", nil, true},

		"a URL":                    {"postgres://a:s3cr3t-1@db.example.org/app", []string{"s3cr3t-1"}, true},
		"a URL, escaped":           {"postgres://a:s3cr3t%2D1@db.example.org/app", []string{"s3cr3t%2D1", "s3cr3t-1"}, true},
		"a URL, badly escaped":     {"postgres://a:s3cr3t%zz@db.example.org/app", []string{"s3cr3t%zz"}, true},
		"a URL without":            {"https://example.org/x", nil, true},
		"a URL, ordinary":          {"https://example.org/?token=none&y=1", nil, true},
		"a URL as long as it is":   {urlOf(lined), []string{"s3cr3t-1"}, true},
		"a URL that is longer":     {urlOf(lined + 1), nil, false},
		"two URLs":                 {"https://a:s3cr3t-1@example.org\nhttps://a:s3cr3t-2@example.org", []string{"https://a:s3cr3t-1@example.org", "https://a:s3cr3t-2@example.org"}, false},
		"a DSN":                    {"me:s3cr3t-1@tcp(db.example.org:3306)/app", []string{"s3cr3t-1"}, true},
		"a DSN with another":       {"me:s3cr3t-1@tcp(db.example.org:3306)/app?password=s3cr3t-2", []string{"s3cr3t-1", "s3cr3t-2"}, true},
		"a sentence with a secret": {"the password=s3cr3t-1", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			parts, structured := Parts(c.value)
			slices.Sort(parts)
			if !slices.Equal(parts, c.parts) || structured != c.structured {
				t.Errorf("%.100q: got %q, %v", c.value, parts, structured)
			}
		})
	}
}

// most256 is the length up to which a value is read as YAML.
const most256 = most
