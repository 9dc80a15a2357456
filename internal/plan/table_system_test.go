//go:build blackbox

package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An object is a part of a provider's schema.
type object struct {
	Attributes map[string]struct {
		Sensitive bool    `json:"sensitive"`
		Nested    *object `json:"nested_type"`
	} `json:"attributes"`
	Blocks map[string]struct {
		Block object `json:"block"`
	} `json:"block_types"`
}

// sensitive says whether the path or something on its way is marked; ok, whether it is there.
func (o object) sensitive(path string) (marked, ok bool) {
	name, rest, deeper := strings.Cut(path, ".")
	if attribute, there := o.Attributes[name]; there {
		if !deeper || attribute.Sensitive {
			return attribute.Sensitive, true
		}
		if attribute.Nested == nil {
			return false, false
		}
		return attribute.Nested.sensitive(rest)
	}
	block, there := o.Blocks[name]
	if !there || !deeper {
		return false, false
	}
	return block.Block.sensitive(rest)
}

// What the table names is an attribute of the providers that are here, and none of it is
// one that they mark as sensitive.
func TestBlackBoxTable(t *testing.T) {
	providers, err := filepath.Abs("../../.slipway/providers")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rc":      fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", providers),
		"main.tf": "terraform {\n  required_providers {\n    openstack = { source = \"terraform-provider-openstack/openstack\" }\n    ovh = { source = \"ovh/ovh\" }\n  }\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tofu := func(args ...string) []byte {
		c := exec.CommandContext(t.Context(), "tofu", append([]string{"-chdir=" + dir}, args...)...)
		c.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "rc"))
		out, err := c.Output()
		if err != nil {
			t.Fatalf("tofu %q: %v\n%s", args, err, out)
		}
		return out
	}
	tofu("init", "-no-color", "-input=false")
	var schemas struct {
		Providers map[string]struct {
			Resources map[string]struct {
				Block object `json:"block"`
			} `json:"resource_schemas"`
		} `json:"provider_schemas"`
	}
	if err := json.Unmarshal(tofu("providers", "schema", "-json"), &schemas); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for kind, paths := range builtIn() {
		provider, _, _ := strings.Cut(kind, "_")
		for name, schema := range schemas.Providers {
			if !strings.HasSuffix(name, "/"+provider) {
				continue
			}
			for path := range paths {
				checked++
				if marked, ok := schema.Resources[kind].Block.sensitive(path); !ok || marked {
					t.Errorf("%s.%s: there %v, sensitive %v", kind, path, ok, marked)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d attributes are checked", checked)
	}
	if marked, _ := schemas.Providers["registry.opentofu.org/ovh/ovh"].Resources["ovh_cloud_project_database_postgresql_user"].Block.sensitive("password"); !marked {
		t.Error("the check knows no sensitive attribute")
	}
}
