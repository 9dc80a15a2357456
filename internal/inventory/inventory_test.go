package inventory

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/tofu"
)

var update = flag.Bool("update", false, "write the golden files")

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4mvDc2K7t3DQmfCLzVOQIyXn5aZmtYpHqYk8Zl0b1C"

func output(value string) tofu.Outputs {
	return tofu.Outputs{HostsOutput: {Value: json.RawMessage(value)}}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must.Do(t, err)
	if string(got) != string(want) {
		t.Errorf("%s is\n%s\nnot\n%s", name, got, want)
	}
}

// A layer's output is one host, or several by name, or none.
func TestHosts(t *testing.T) {
	host := func(address string) string {
		return `{"host": "` + address + `", "user": "debian", "known_hosts": "` + address + ` ` + key + `"}`
	}
	for name, c := range map[string]struct{ value, want string }{
		"one":                {host("192.0.2.1"), "test=192.0.2.1:22"},
		"several":            {`{"web": ` + host("192.0.2.2") + `, "db": ` + host("192.0.2.1") + `}`, "db=192.0.2.1:22 web=192.0.2.2:22"},
		"one called host":    {`{"host": ` + host("192.0.2.3") + `}`, "host=192.0.2.3:22"},
		"none yet":           {`null`, ""},
		"none at all":        {`{}`, ""},
		"by IPv6":            {host("2001:db8::1"), "test=2001:db8::1:22"},
		"by a name":          {host("web.example.org"), "test=web.example.org:22"},
		"not in the output":  {"", ""},
		"a blank line":       {`{"host": "192.0.2.1", "user": "debian", "known_hosts": "\n192.0.2.1 ` + key + `\n"}`, "test=192.0.2.1:22"},
		"the first port":     {`{"host": "192.0.2.1", "user": "debian", "port": 1, "known_hosts": "[192.0.2.1]:1 ` + key + `"}`, "test=192.0.2.1:22"},
		"the last port":      {`{"host": "192.0.2.1", "user": "debian", "port": 65535, "known_hosts": "[192.0.2.1]:65535 ` + key + `"}`, "test=192.0.2.1:22"},
		"a port in no line":  {`{"host": "192.0.2.1", "user": "debian", "port": 2222, "known_hosts": "192.0.2.1 ` + key + `"}`, "test=192.0.2.1:22"},
		"no port":            {`{"web": {"host": "192.0.2.1", "user": "debian", "port": 0}}`, "the output ansible_inventory of test: web: port is 0, want 1 to 65535"},
		"half a port":        {`{"web": {"host": "192.0.2.1", "port": 22.5}}`, "the output ansible_inventory of test: web: port is a number, want a whole number"},
		"a user as number":   {`{"web": {"host": "192.0.2.1", "user": 1000}}`, "the output ansible_inventory of test: web: user is a number, want a string"},
		"a text":             {`"192.0.2.1"`, "the output ansible_inventory of test is neither one host nor a map of hosts by name"},
		"no address":         {`{"web": {"user": "debian"}}`, "the output ansible_inventory of test: web has no host, which is its address"},
		"no user":            {`{"web": {"host": "192.0.2.1"}}`, "the output ansible_inventory of test: web has no user to log in as"},
		"no known_hosts":     {`{"web": {"host": "192.0.2.1", "user": "debian"}}`, "the output ansible_inventory of test: web has no known_hosts: Slipway trusts no host key on first use"},
		"a zone":             {`{"web": {"host": "fe80::1%$(id)", "user": "debian"}}`, `the output ansible_inventory of test: web: host is "fe80::1%$(id)", want an IP address or a name`},
		"Ansible's name":     {`{"localhost": ` + host("192.0.2.1") + `}`, "the output ansible_inventory of test has a host named localhost, a name that Ansible uses itself"},
		"an authority":       {`{"web": {"host": "192.0.2.1", "user": "debian", "known_hosts": "\n@cert-authority * ` + key + `\n192.0.2.1 ` + key + `"}}`, "the output ansible_inventory of test: web: known_hosts: line 2 is that of an authority: Slipway trusts keys of hosts only"},
		"everybody's key":    {`{"web": {"host": "192.0.2.1", "user": "debian", "known_hosts": "* ` + key + `"}}`, "the output ansible_inventory of test: web: known_hosts: there is no line for 192.0.2.1"},
		"another's key":      {`{"web": {"host": "192.0.2.1", "user": "debian", "known_hosts": "192.0.2.2 ` + key + `"}}`, "the output ansible_inventory of test: web: known_hosts: there is no line for 192.0.2.1"},
		"a revoked key":      {`{"web": {"host": "192.0.2.1", "user": "debian", "known_hosts": "@revoked 192.0.2.1 ` + key + `"}}`, "the output ansible_inventory of test: web: known_hosts: there is no line for 192.0.2.1"},
		"no key":             {`{"web": {"host": "192.0.2.1", "user": "debian", "known_hosts": "192.0.2.1 ssh-ed25519"}}`, "the output ansible_inventory of test: web: known_hosts: line 1 is not a line of known_hosts"},
		"a port as text":     {`{"web": {"host": "192.0.2.1", "port": "22"}}`, "the output ansible_inventory of test: web: port is a string, want a whole number"},
		"a port of nobody's": {`{"web": {"host": "192.0.2.1", "user": "debian", "port": 65536}}`, "the output ansible_inventory of test: web: port is 65536, want 1 to 65535"},
		"groups as text":     {`{"web": {"host": "192.0.2.1", "groups": "web"}}`, "the output ansible_inventory of test: web: groups is a string, want a list"},
		"an option as host":  {`{"web": {"host": "-oProxyCommand=x", "user": "debian"}}`, `the output ansible_inventory of test: web: host is "-oProxyCommand=x", want an IP address or a name`},
		"an option as user":  {`{"web": {"host": "192.0.2.1", "user": "-x"}}`, `the output ansible_inventory of test: web: user is "-x", want the name of a user`},
		"an unknown field":   {`{"web": {"host": "192.0.2.1", "password": "x"}}`, `the output ansible_inventory of test: web: unknown field "password": the fields are host, user, port, known_hosts, groups, vars and boot_marker`},
		"a list as host":     {`{"web": []}`, "the output ansible_inventory of test: web: it is a list, want a host"},
		"a name like a path": {`{"../web": {}}`, `the output ansible_inventory of test has a host named "../web": use letters, digits, dots and dashes`},
	} {
		t.Run(name, func(t *testing.T) {
			hosts, err := Hosts("test", output(c.value))
			var got []string
			for _, h := range hosts {
				got = append(got, h.Name+"="+h.Address+":22")
			}
			text := strings.Join(got, " ")
			if err != nil {
				text = err.Error()
			}
			if text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
	for name, outputs := range map[string]tofu.Outputs{"none": nil, "a secret": {HostsOutput: {Sensitive: true, Value: json.RawMessage(host("192.0.2.1"))}}} {
		if hosts, err := Hosts("test", outputs); err != nil || hosts != nil {
			t.Errorf("%s: %v, %v", name, hosts, err)
		}
	}
}

// Numbers among a host's variables keep their digits.
func TestHostVariables(t *testing.T) {
	hosts, err := Hosts("test", output(`{"host": "192.0.2.1", "user": "debian", "known_hosts": "192.0.2.1 `+key+`", "vars": {"serial": 12345678901234567}}`))
	must.Do(t, err)
	if got := hosts[0].Variables["serial"]; got != json.Number("12345678901234567") {
		t.Errorf("got %v", got)
	}
}

// A host's groups and variables cannot be Ansible's own.
func TestHostsReserved(t *testing.T) {
	for fields, want := range map[string]string{
		`"groups": ["all"]`:                                 `groups has "all"`,
		`"groups": ["web-1"]`:                               `groups has "web-1"`,
		`"vars": {"ansible_ssh_common_args": "-o x"}`:       "vars has ansible_ssh_common_args: names with ansible_ and slipway_ are set by Ansible and Slipway",
		`"vars": {"slipway_serial": 1}`:                     "vars has slipway_serial",
		`"boot_marker": "done"`:                             `boot_marker is "done", want the absolute path of a file`,
		`"boot_marker": "/var/lib/done"`:                    "",
		`"vars": {"a b": 1}`:                                `vars has "a b", which cannot be the name of a variable`,
		`"groups": ["web", "db_1"], "vars": {"_colour": 1}`: "",
	} {
		_, err := Hosts("test", output(`{"web": {"host": "192.0.2.1", "user": "debian", "known_hosts": "192.0.2.1 `+key+`", `+fields+`}}`))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v", fields, err)
		}
	}
}

func TestVariables(t *testing.T) {
	for name, c := range map[string]struct {
		outputs tofu.Outputs
		want    string
	}{
		"none":             {nil, ""},
		"both":             {tofu.Outputs{VariablesOutput: {Value: json.RawMessage(`{"a": 1}`)}, SecretsOutput: {Sensitive: true, Value: json.RawMessage(`{"b": "x"}`)}}, ""},
		"a map again":      {tofu.Outputs{SecretsOutput: {Sensitive: true, Value: json.RawMessage(`{"db": {"port": 2}}`)}}, ""},
		"not yet":          {tofu.Outputs{SecretsOutput: {Value: json.RawMessage("null")}}, ""},
		"no value":         {tofu.Outputs{SecretsOutput: {}}, ""},
		"a list":           {tofu.Outputs{VariablesOutput: {Value: json.RawMessage(`[]`)}}, "the output ansible_vars of net is not a map of variables by name"},
		"an open secret":   {tofu.Outputs{SecretsOutput: {Value: json.RawMessage(`{"b": "x"}`)}}, "the output ansible_secrets of net has sensitive = false: put secrets into ansible_secrets, and everything else into ansible_vars"},
		"a secret address": {tofu.Outputs{VariablesOutput: {Sensitive: true, Value: json.RawMessage(`{"b": "x"}`)}}, "the output ansible_vars of net has sensitive = true"},
		"a reserved name":  {tofu.Outputs{VariablesOutput: {Value: json.RawMessage(`{"ansible_user": "x"}`)}}, "the output ansible_vars of net has ansible_user"},
	} {
		t.Run(name, func(t *testing.T) {
			open, secrets := map[string]any{"z": 0.0}, map[string]any{"db": map[string]any{"port": 1, "host": "x"}}
			err := Variables("net", c.outputs, open, secrets)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
			if name == "both" && (open["a"] != json.Number("1") || open["z"] != 0.0 || secrets["b"] != "x" || open["b"] != nil) {
				t.Errorf("got %v and %v", open, secrets)
			}
			if db := secrets["db"].(map[string]any); name == "a map again" && (db["port"] != json.Number("2") || db["host"] != "x") {
				t.Errorf("got %v", db)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	a := map[string]any{"db": map[string]any{"host": "h", "port": 1}, "x": 1}
	got := Merge(a, map[string]any{"db": map[string]any{"password": "p", "port": 2}, "x": map[string]any{}})
	db := got["db"].(map[string]any)
	if db["host"] != "h" || db["port"] != 2 || db["password"] != "p" {
		t.Errorf("got %v", got)
	}
	if _, ok := got["x"].(map[string]any); !ok || a["x"] != 1 || len(a["db"].(map[string]any)) != 2 {
		t.Errorf("got %v, of %v", got, a)
	}
	if got := Merge(map[string]any{"x": map[string]any{"a": 1}}, map[string]any{"x": 2}); got["x"] != 2 {
		t.Errorf("what is no map wins as %v", got["x"])
	}
	if got := Merge(nil, nil); len(got) != 0 || got == nil {
		t.Errorf("got %v", got)
	}
}

func fleet() []remote.Host {
	bastion := remote.Host{Name: "bastion", Address: "192.0.2.1", User: "debian", Port: 2222, KnownHosts: "# the bastion\n[192.0.2.1]:2222 " + key + "\n", Proxy: "http://proxy:3128"}
	return []remote.Host{
		bastion,
		{Name: "web-1", Address: "10.0.0.2", User: "admin", Port: 22, KnownHosts: "10.0.0.2,2001:db8::2 " + key + "\n@revoked * " + key, Groups: []string{"prod", "web"}, Jump: &bastion,
			Variables: map[string]any{"zone": "a", "weight": 2, "motto": "{{ lookup('pipe', 'id') }}", "yes": "yes"}},
		{Name: "web-2", Address: "10.0.0.3", User: "admin", Port: 22, KnownHosts: "10.0.0.3 " + key + "\n10.0.0.2,2001:db8::2 " + key + "\n@revoked 10.0.0.2 " + key, Groups: []string{"web"}, Jump: &bastion},
		{Name: "db", Address: "192.0.2.9", User: "admin", Port: 22, KnownHosts: "192.0.2.9 " + key + "\n192.0.2.9 " + key},
	}
}

// The inventory, known_hosts and the configuration of ssh are what they were.
func TestGolden(t *testing.T) {
	text, err := Write(fleet())
	must.Do(t, err)
	golden(t, "inventory.yml", text)
	golden(t, "known_hosts", KnownHosts(fleet()))
	golden(t, "ssh_config", SSHConfig{KnownHosts: "/work/ansible/known_hosts", Agent: "/work/ansible/agent", Self: "/usr/local/bin/slipway"}.Write(fleet()))
}

// A value that looks like a template stays what it is.
func TestWriteVariables(t *testing.T) {
	text, err := WriteVariables(map[string]any{"a": "x{{ y", "b": map[string]any{"c": []any{"{% raw %}", "plain", "{# note #}"}}, "d": "no\n{ { }"})
	must.Do(t, err)
	if n := strings.Count(string(text), "!unsafe"); n != 3 {
		t.Errorf("%d values are protected:\n%s", n, text)
	}
	var back map[string]any
	must.Do(t, yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "!unsafe ", "")), &back))
	if back["a"] != "x{{ y" || back["d"] != "no\n{ { }" {
		t.Errorf("got %v", back)
	}
}

// Numbers keep their digits, and text is text in the YAML of Ansible, too.
func TestWriteValues(t *testing.T) {
	for text, want := range map[string]string{
		`1000000`: "1000000", `-12345678901234567`: "-12345678901234567", `1e30`: "!!int 1000000000000000000000000000000", `1.5`: "1.5", `25e-1`: "2.5",
		`"="`: `"="`, `"0123"`: `"0123"`, `"1e6"`: `"1e6"`, `"12:30"`: `"12:30"`, `null`: "null", `true`: "true", `[1e2, "y"]`: "\n  - 100\n  - \"y\"",
	} {
		variables := map[string]any{}
		must.Do(t, Variables("net", tofu.Outputs{VariablesOutput: {Value: json.RawMessage(`{"v": ` + text + `}`)}}, variables, nil))
		got, err := WriteVariables(variables)
		if err != nil || strings.Replace(string(got), `"v": `, "", 1) != want+"\n" && string(got) != `"v":`+want+"\n" {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
}
