//go:build blackbox

package main

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/confine"
	"slipway/internal/manifest"
	"slipway/internal/run"
)

// TestBlackBoxConfined has code try to read what it must not, by OpenTofu's own
// function, by a program of a data source and by a provisioner.
func TestBlackBoxConfined(t *testing.T) {
	p := newProject(t, "")
	// Mounted as Dagger does it: for all to read, but for the key.
	for _, path := range []string{p.dir, filepath.Join(p.dir, "credentials")} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Dir(p.dir), filepath.Dir(filepath.Dir(p.identity))} {
		if err := os.Chmod(path, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{p.identity, filepath.Join(p.dir, "credentials/test.enc.env")} {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sealed := filepath.Join(p.dir, "credentials/test.enc.env")
	p.write("environments/test/main.tf", `terraform {
  backend "s3" {}
}
# Reversed, so that no mask knows it.
output "identity"    { value = try(strrev(file("`+p.identity+`")), "closed") }
output "credentials" { value = try(strrev(file("`+sealed+`")), "closed") }
output "copied"      { value = fileexists("../../credentials/test.enc.env") ? "there" : "closed" }
resource "terraform_data" "program" {
  provisioner "local-exec" {
    command = <<-EOT
      runner=$(grep ^PPid: /proc/$PPID/status | cut -f2)
      {
        id -u
        cat `+p.identity+` `+sealed+` /proc/$runner/environ /proc/$runner/maps
        ls /proc/$runner/fd /proc/$runner/root `+p.dir+`
        echo x >/proc/$runner/mem
        cat ../../credentials/test.enc.env
      } 2>&1 | rev >"$TMPDIR/found"
      cat "$TMPDIR/found" >&2
      exit 1
    EOT
  }
}
`)
	if err := os.Chmod(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.run("bootstrap").must(t, run.Done)
	planned := p.run("plan").must(t, run.Changes)
	e := p.run("apply").must(t, run.Failed)
	said := reverse(e.stdout+e.stderr) + e.stdout + e.stderr
	if !confine.Switches() {
		planned.says(t, "note: not running as root, so the tools run as the same user")
		if !strings.Contains(said, p.key.String()) {
			t.Errorf("the same user reads it, and the test does not see that:\n%s", said)
		}
		return
	}
	if strings.Contains(planned.stderr, "not running as root") {
		t.Error("it says that it is not running as root")
	}
	for _, secret := range []string{p.key.String(), "ENC[AES256_GCM", "sops_", "credentials:", "SLIPWAY_TEST_CANARY"} {
		if strings.Contains(said, secret) {
			t.Errorf("a tool reads %q:\n%s", secret, said)
		}
	}
	if !strings.Contains(said, "65532") || strings.Count(said, "Permission denied") < 8 {
		t.Errorf("the program did not try:\n%s", said)
	}

	p.write("environments/test/main.tf", strings.Split(readFile(t, filepath.Join(p.dir, "environments/test/main.tf")), "resource")[0])
	p.run("apply").must(t, run.Done).says(t, "identity = closed", "credentials = closed", "copied = closed")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func reverse(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		runes := []rune(strings.TrimSuffix(line, "\n"))
		for i := range runes {
			lines.WriteRune(runes[len(runes)-1-i])
		}
		lines.WriteByte('\n')
	}
	return lines.String()
}

// The runner does not follow what a tool leaves in place of its own files: the runner is root, and
// would read or write what the tool may not.
func TestBlackBoxPlantedLinks(t *testing.T) {
	p := newProject(t, `
resource "terraform_data" "plants" {
  provisioner "local-exec" {
    command = "ln -s `+"${var.identity}"+` errored.tfstate; exit 1"
  }
}
variable "identity" {}
`)
	p.secret["TF_VAR_identity"] = p.identity
	p.seal()
	p.run("bootstrap").must(t, run.Done)
	e := p.run("apply").must(t, run.Failed).says(t, "errored.tfstate is not a regular file")
	if _, err := os.Stat(filepath.Join(e.out, "recovery")); err == nil {
		t.Error("it keeps what the link leads to")
	}
}

// Code that runs what its environment does not allow is refused before any tool
// starts, in every stage that would start one.
func TestBlackBoxForeign(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	settings := filepath.Join(p.dir, "environments/test/environment.yaml")
	p.file(settings, strings.Replace(readFile(t, settings), "allow: {programs: [local-exec, external], providers: [acme/tiny]}\n", "", 1))
	p.run("validate").must(t, run.Done)
	p.write("modules/a/main.tf", "data \"external\" \"x\" {\n  program = [\"touch\", \"/tmp/never\"]\n}\n")
	p.write("environments/test/more.tf", "module \"a\" {\n  source = \"../../modules/a\"\n}\n")
	for _, stage := range []string{"plan", "apply", "output", "drift", "validate", "destroy"} {
		p.run(stage, confirm).must(t, run.BadInput).says(t, `modules/a/main.tf:1: data "external" runs a program, and environment test does not allow it`,
			"hint: to allow it, write into environments/test/environment.yaml: allow: {programs: [external]}").startsNothing(t)
	}
	p.write("environments/test/more.tf", "")
	p.run("plan").must(t, run.Changes)
}

// A module that init fetches is inspected before it is planned.
func TestBlackBoxForeignFetched(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	var archive bytes.Buffer
	packed := zip.NewWriter(&archive)
	for name, text := range map[string]string{
		"main.tf":      "module \"deep\" {\n  source = \"./deep\"\n}\n",
		"deep/main.tf": "resource \"terraform_data\" \"x\" {\n  provisioner \"remote-exec\" {\n    inline = [\"id\"]\n  }\n}\n",
	} {
		w, err := packed.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, text)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) }))
	t.Cleanup(server.Close)
	p.write("environments/test/more.tf", "module \"far\" {\n  source = \""+server.URL+"/m.zip\"\n}\n")
	p.run("plan").must(t, run.BadInput).says(t, "module \"far\" is remote, without a checksum")
	p.write("environments/test/more.tf", "module \"far\" {\n  source = \""+server.URL+"/m.zip?checksum="+manifest.Digest(archive.Bytes())+"\"\n}\n")
	for _, stage := range []string{"plan", "validate"} {
		p.run(stage).must(t, run.BadInput).says(t, `deep/main.tf:2: provisioner "remote-exec" runs a program`)
	}
}
