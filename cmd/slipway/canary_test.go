//go:build blackbox

package main

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/run"
)

// traces are the forms in which a secret could be found, computed without the code of
// internal/redact.
func traces(secret string) []string {
	var forms []string
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
		// Without the characters that also encode bits of a neighbour.
		forms = append(forms, strings.TrimRight(encoded[(offset*8+5)/6:], "=")[:len(secret)])
	}
	quoted, _ := json.Marshal(secret)
	forms = append(forms, secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`))
	for line := range strings.Lines(secret) {
		if line = strings.TrimSpace(line); len(line) >= 8 {
			forms = append(forms, line)
		}
	}
	return forms
}

// leaked names the forms of the secrets that are in a text.
func leaked(text string, secrets map[string]string) []string {
	var found []string
	for class, secret := range secrets {
		for _, form := range traces(secret) {
			if strings.Contains(text, form) {
				found = append(found, class+": "+form)
			}
		}
	}
	return found
}

// left is all that a stage leaves: what it printed, and every file of /out.
func (e ended) left(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	all.WriteString(e.stdout + e.stderr)
	err := filepath.WalkDir(e.out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestBlackBoxCanaries runs every stage on secrets of every class, well and
// failing, and looks for them in all that is left.
func TestBlackBoxCanaries(t *testing.T) {
	p := newProject(t, `
variable "password" {
  sensitive = true
}
variable "key" {
  sensitive = true
}
variable "odd" {
  sensitive = true
}
variable "open" {}
variable "fail" {
  default = ""
}

locals {
  # In no file: it comes into being with the state.
  born = sensitive(join("-", ["canary", "born", "in", "state"]))
}

resource "terraform_data" "password" { input = var.password }
resource "terraform_data" "key" { input = var.key }
resource "terraform_data" "odd" { input = var.odd }
resource "terraform_data" "open" { input = var.open }
resource "terraform_data" "born" { input = local.born }

resource "terraform_data" "fails" {
  count = var.fail == "" ? 0 : 1
  input = nonsensitive(local.born)
  provisioner "local-exec" {
    command = "echo \"$SECRETS\"; echo \"$SECRETS\" | base64 -w0; exit 1"
    environment = { SECRETS = nonsensitive("${var.password} ${var.key} ${var.odd} ${var.open} ${local.born}") }
  }
  lifecycle {
    precondition {
      condition     = var.fail != "plan"
      error_message = "refused: ${nonsensitive(var.password)} ${nonsensitive(var.key)} ${nonsensitive(var.odd)} ${var.open} ${nonsensitive(local.born)}"
    }
  }
}

output "open" { value = var.open }
output "encoded" { value = base64encode(var.open) }
output "password" {
  value     = var.password
  sensitive = true
}
`)
	canaries := map[string]string{
		"one line":                     "canary-one-line-5gT9",
		"a multi-line key":             "-----BEGIN KEY-----\ncanarymultilinekeyAAAA1111\ncanarymultilinekeyBBBB2222\n-----END KEY-----\n",
		"quotes and line breaks":       "canary \"quoted\" & 'odd'\nsecond <line> canary %$\\ end",
		"in an open attribute":         "canary-open-attribute-77",
		"of the bucket":                "canary-of-the-bucket-31",
		"of the state":                 "canary-passphrase-of-the-state-4fQ9zR7tWk2X",
		"that only the state knows":    "canary-born-in-state",
		"the age identity":             p.key.String(),
		"that no tool is given":        "canary-of-nobody-2291",
		"that is set by secrets set":   "canary-of-secrets-set-88",
		"that is set by secrets edit":  "canary-of-secrets-edit-99",
		"of a plain file in the wrong": "canary-in-a-plain-file-12",
	}
	p.secret = map[string]string{
		"AWS_ACCESS_KEY_ID": "access-key", "AWS_SECRET_ACCESS_KEY": canaries["of the bucket"], "STATE_PASSPHRASE": canaries["of the state"],
		"TF_VAR_password": canaries["one line"], "TF_VAR_key": canaries["a multi-line key"], "TF_VAR_odd": canaries["quotes and line breaks"],
		"TF_VAR_open": canaries["in an open attribute"], "APPLICATION_SECRET": canaries["that no tool is given"],
	}
	p.seal()
	value, content := filepath.Join(t.TempDir(), "value"), filepath.Join(t.TempDir(), "content")
	p.file(value, canaries["that is set by secrets set"]+"\n")
	p.file(content, "ONE="+canaries["that is set by secrets edit"]+"\n")
	with := func(o *call) {
		switch o.Stage {
		case "destroy", "down":
			o.add("--confirm=test")
		case "secrets-set":
			o.add("--variable=NEW")
			o.add("--value=" + value)
		case "secrets-edit":
			o.add("--content=" + content)
		}
		if strings.HasPrefix(o.Stage, "secrets-") && o.Stage != "secrets-check" {
			o.add("--file=credentials/test.enc.env")
		}
	}
	p.write("credentials/other.enc.env.example", "SECRET=<random>\n")

	look := func(stage string, code int, change ...func(*call)) ended {
		e := p.run(stage, append([]func(*call){with}, change...)...).must(t, code)
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("%s leaks %q:\n%s%s", stage, found, e.stdout, e.stderr)
		}
		return e
	}
	look("plan", run.BadInput)
	look("bootstrap", run.Done)
	look("plan", run.Changes)
	look("apply", run.Done).says(t, "open = ***", "encoded = ***")
	look("output", run.Done).says(t, "open = ***", "password = (sensitive)")
	look("state-list", run.Done)
	for _, stage := range []string{"unlock", "recover", "environments", "secrets-check", "secrets-set", "secrets-edit", "secrets-rotate", "secrets-updatekeys"} {
		look(stage, run.Done)
	}
	look("secrets-init", run.Done, func(o *call) { o.add("--file=credentials/other.enc.env") })

	p.secret["TF_VAR_fail"] = "apply-"
	p.seal()
	failed := look("apply", run.Failed).says(t, "local-exec", "***")
	// A tool's own words are for the console, masked, and in no file that is kept.
	if kept, err := os.ReadFile(filepath.Join(failed.out, "summary.md")); err != nil || strings.Contains(string(kept), "local-exec") || !strings.Contains(string(kept), "tofu apply of test failed") {
		t.Errorf("summary.md, %v:\n%s", err, kept)
	}
	p.secret["TF_VAR_fail"] = "plan"
	p.seal()
	look("plan", run.Failed).says(t, "refused: ***")
	p.secret["STATE_PASSPHRASE"] = "canary-passphrase-that-is-wrong-8mB3yH6pLc5V"
	p.seal()
	look("plan", run.BadInput)
	look("destroy", run.BadInput)
	p.secret["STATE_PASSPHRASE"] = canaries["of the state"]
	delete(p.secret, "TF_VAR_fail")
	p.seal()
	look("destroy", run.Done)
	p.write("credentials/test.env", "SECRET="+canaries["of a plain file in the wrong"]+"\n")
	look("secrets-check", run.BadInput)

	// The search finds what is there, in each form.
	for class, secret := range canaries {
		for _, form := range traces(secret) {
			if len(leaked("before "+form+" after", map[string]string{class: secret})) == 0 {
				t.Errorf("the search does not find %q", form)
			}
		}
	}
}

// What comes into being in an apply is known by the state alone. Where that cannot be
// written, nothing of what tofu says of the failure is shown, and the run says so.
func TestBlackBoxBornInALostApply(t *testing.T) {
	p := newProject(t, `
locals { born = sensitive(join("-", ["canary", terraform_data.one.id])) }
resource "terraform_data" "one" { input = "one" }
resource "terraform_data" "born" { input = local.born }
resource "terraform_data" "fails" {
  input = nonsensitive(terraform_data.born.output)
  provisioner "local-exec" {
    command     = "echo born: $SECRET; exit 1"
    environment = { SECRET = nonsensitive(terraform_data.born.output) }
  }
}`)
	p.run("bootstrap").must(t, run.Done)
	failed := p.run("apply").must(t, run.Failed).says(t, "local-exec", "born: ***")
	if strings.Contains(failed.left(t), "canary-") {
		t.Errorf("a value that was born in the apply is shown:\n%s", failed.left(t))
	}
	p.run("destroy", confirm).must(t, run.Done)
	p.store.failing(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/test/test.tfstate") {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	lost := p.run("apply").must(t, run.Failed).says(t, "(terraform_data.fails", "not shown because it may contain secrets: the state of this run could not be written", "recovery/test.tfstate.age")
	if text := lost.stdout + lost.stderr; strings.Contains(text, "canary-") || strings.Contains(text, "born: ") {
		t.Errorf("a value that was born in the apply is shown:\n%s", text)
	}
}
