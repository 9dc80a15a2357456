//go:build blackbox

package main

import (
	"archive/zip"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway/internal/run"
)

// A registry serves versions of one provider, acme/tiny, by OpenTofu's protocol. It
// plays registry.opentofu.org for those who take its proxy and trust its certificate.
//
// https://opentofu.org/docs/internals/provider-registry-protocol/
type registry struct {
	proxy       string // its URL
	certificate string // file
	packages    map[string][]byte
}

// allPlatforms are those on which tofu runs.
var allPlatforms = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}

const registryHost = "registry.opentofu.org"

// newRegistry has version 1.0.0 and 1.1.0 for the four allPlatforms.
func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{certificate: filepath.Join(t.TempDir(), "certificate.pem"), packages: map[string][]byte{}}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		for _, platform := range allPlatforms {
			r.packages[packageName(version, platform)] = pack(t, version, "a build of "+version+" for "+platform)
		}
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{registryHost}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(r.certificate)), 0o711); err != nil { // for the tools
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(r)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(tunnel(server.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	r.proxy = proxy.URL
	return r
}

// tunnel is a proxy that leads to one address, whatever it is asked for.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.Host != registryHost+":443" {
			http.Error(w, "no way to "+request.Host, http.StatusForbidden)
			return
		}
		server, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer server.Close()
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer client.Close()
		fmt.Fprint(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(server, client)
			server.Close()
		}()
		_, _ = io.Copy(client, server)
	}
}

func packageName(version, platform string) string {
	return fmt.Sprintf("terraform-provider-tiny_%s_%s.zip", version, platform)
}

// pack makes a provider's package. Nothing here starts what is in it.
func pack(t *testing.T, version, content string) []byte {
	t.Helper()
	var data bytes.Buffer
	archive := zip.NewWriter(&data)
	file, err := archive.Create("terraform-provider-tiny_v" + version)
	if err == nil {
		_, err = file.Write([]byte(content))
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// sums is the SHA256SUMS of a version.
func (r *registry) sums(version string) string {
	var lines []string
	for name, data := range r.packages {
		if strings.Contains(name, "_"+version+"_") {
			lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	answer := func(value any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case request.URL.Path == "/.well-known/terraform.json":
		answer(map[string]string{"providers.v1": "/v1/providers/"})
	case request.URL.Path == "/v1/providers/acme/tiny/versions":
		answer(map[string]any{"versions": []map[string]any{{"version": "1.0.0", "protocols": []string{"6.0"}}, {"version": "1.1.0", "protocols": []string{"6.0"}}}})
	case strings.HasPrefix(request.URL.Path, "/v1/providers/acme/tiny/") && len(parts) == 8:
		version, name := parts[4], packageName(parts[4], parts[6]+"_"+parts[7])
		data, ok := r.packages[name]
		if !ok {
			http.NotFound(w, request)
			return
		}
		answer(map[string]any{
			"protocols": []string{"6.0"}, "os": parts[6], "arch": parts[7], "filename": name, "shasum": fmt.Sprintf("%x", sha256.Sum256(data)),
			"download_url": "/files/" + name, "shasums_url": "/files/" + version + "/SHA256SUMS", "shasums_signature_url": "/files/" + version + "/SHA256SUMS.sig",
			"signing_keys": map[string]any{"gpg_public_keys": []any{}},
		})
	case len(parts) == 3 && parts[2] == "SHA256SUMS":
		_, _ = w.Write([]byte(r.sums(parts[1])))
	case len(parts) == 3 && parts[2] == "SHA256SUMS.sig":
		_, _ = w.Write([]byte("it is signed by nobody"))
	case len(parts) == 2 && parts[0] == "files" && r.packages[parts[1]] != nil:
		_, _ = w.Write(r.packages[parts[1]])
	default:
		http.NotFound(w, request)
	}
}

const backend = "terraform {\n  backend \"s3\" {}\n}\n"

// needsTiny is the code of a root which needs that version of the provider.
func needsTiny(version string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    tiny = {\n      source  = \"acme/tiny\"\n      version = %q\n    }\n  }\n}\n", version)
}

// lock runs the stage in another process, whose way out leads to the registry,
// and takes over the files that it hands back.
func (p *project) lock(r *registry, change ...func(*call)) (e ended, files []string) {
	p.t.Helper()
	o := p.options("lock-providers")
	for _, f := range change {
		f(&o)
	}
	text, err := json.Marshal(o)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_STAGE="+string(text), "SSL_CERT_FILE="+r.certificate, "HTTPS_PROXY="+r.proxy)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	e = ended{code: cmd.ProcessState.ExitCode(), out: o.Out, stdout: stdout.String(), stderr: stderr.String()}
	changed := filepath.Join(o.Out, "changed")
	if _, err := os.Stat(changed); err != nil {
		return e, nil
	}
	err = fs.WalkDir(os.DirFS(changed), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files = append(files, name)
		data, err := os.ReadFile(filepath.Join(changed, name))
		if err == nil {
			p.write(name, string(data))
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return e, files
}

// newLocked is a project whose root needs tiny 1.0.0 of a registry.
func newLocked(t *testing.T) (*project, *registry) {
	t.Helper()
	r := newRegistry(t)
	p := newProject(t, needsTiny("1.0.0"))
	// The stage needs none.
	p.identity = ""
	if err := os.RemoveAll(filepath.Join(p.dir, "credentials")); err != nil {
		t.Fatal(err)
	}
	return p, r
}

const lockFile = "environments/test/.terraform.lock.hcl"

func (p *project) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// TestBlackBoxLockProviders creates the lock file of a root from a registry: with the checksums of
// every platform, identical each time, and updated for a new version.
func TestBlackBoxLockProviders(t *testing.T) {
	p, r := newLocked(t)
	p.write("modules/empty/main.tf", "")
	p.write("environments/test/module.tf", "module \"empty\" {\n  source = \"../../modules/empty\"\n}\n")
	e, files := p.lock(r)
	e.must(t, run.Done).says(t, lockFile+": written for linux_amd64, linux_arm64, darwin_amd64, darwin_arm64")
	if !slices.Equal(files, []string{lockFile}) {
		t.Errorf("it changes %q", files)
	}
	first := p.read(lockFile)
	for _, platform := range allPlatforms {
		if sum := fmt.Sprintf("zh:%x", sha256.Sum256(r.packages[packageName("1.0.0", platform)])); !strings.Contains(first, sum) {
			t.Errorf("the lock file has no %s, of %s:\n%s", sum, platform, first)
		}
	}
	// The hashes that identify an unpacked package.
	if n := strings.Count(first, `"h1:`); n != len(allPlatforms) {
		t.Errorf("the lock file has %d checksums of contents:\n%s", n, first)
	}

	e, files = p.lock(r)
	e.must(t, run.Done).says(t, lockFile+": unchanged")
	if len(files) > 0 {
		t.Errorf("the second time it changes %q", files)
	}

	// A new version, and one provider less.
	p.write(lockFile, first+strings.Replace(first[strings.Index(first, "provider "):], "acme/tiny", "acme/gone", 1))
	p.write("environments/test/main.tf", needsTiny("1.1.0"))
	e, files = p.lock(r, func(o *call) { o.Env = "" })
	e.must(t, run.Done)
	second := p.read(lockFile)
	if !slices.Equal(files, []string{lockFile}) || strings.Count(second, "provider ") != 1 || !strings.Contains(second, `version     = "1.1.0"`) || strings.Count(second, `"h1:`) != len(allPlatforms) {
		t.Errorf("of a new version, it changes %q:\n%s", files, second)
	}
}

// TestBlackBoxLockProvidersRefusals goes through everything that prevents a lock file.
func TestBlackBoxLockProvidersRefusals(t *testing.T) {
	p, r := newLocked(t)
	name := packageName("1.0.0", "darwin_amd64")
	build := r.packages[name]
	delete(r.packages, name)
	e, files := p.lock(r)
	e.must(t, run.BadInput).says(t, "the registry has no build of provider "+registryHost+"/acme/tiny 1.0.0 for darwin_amd64",
		"providers lock -platform=linux_amd64 -platform=linux_arm64 -platform=darwin_arm64\n")
	if len(files) > 0 {
		t.Errorf("without one platform it changes %q", files)
	}
	r.packages[name] = build
	e, _ = p.lock(r)
	e.must(t, run.Done)

	// The registry is not to be believed twice.
	r.packages[name] = pack(t, "1.0.0", "another build")
	e, files = p.lock(r)
	e.must(t, run.BadInput).says(t, "the registry's packages of provider "+registryHost+"/acme/tiny 1.0.0 have changed since "+lockFile+" was written", "git log -p -- "+lockFile)
	if len(files) > 0 {
		t.Errorf("of another build it changes %q", files)
	}

	e, _ = p.lock(r, ownBuilds)
	e.must(t, run.BadInput).says(t, "this machine builds the providers from source", "on a machine without PINS in .env")
	e, _ = p.lock(r, func(o *call) { o.Env = "nowhere" })
	e.must(t, run.BadInput).says(t, "nowhere")
}

// ownBuilds has the pins of a machine that builds the providers itself.
func ownBuilds(o *call) {
	o.PinsFile = filepath.Join(o.Work, "pins.env")
	if err := os.WriteFile(o.PinsFile, []byte("PROVIDERS=docker.io/slipway/providers:1@sha256:"+strings.Repeat("0", 64)+"\n"), 0o600); err != nil {
		panic(err)
	}
}

// TestBlackBoxLockFile shows that a root with a lock file takes the very providers
// in it and no other.
func TestBlackBoxLockFile(t *testing.T) {
	r := newRegistry(t)
	p := newProject(t, needsTiny("1.0.0"))
	e, _ := p.lock(r)
	e.must(t, run.Done)
	p.providers = t.TempDir()
	mirror := func(version string, data []byte) {
		p.file(filepath.Join(p.providers, registryHost, "acme/tiny", packageName(version, runtime.GOOS+"_"+runtime.GOARCH)), string(data))
	}
	mirror("1.0.0", r.packages[packageName("1.0.0", runtime.GOOS+"_"+runtime.GOARCH)])
	mirror("1.1.0", r.packages[packageName("1.1.0", runtime.GOOS+"_"+runtime.GOARCH)])
	p.run("bootstrap").must(t, run.Done)
	p.run("state-list").must(t, run.Done)

	// A provider too many, and one of another version.
	text := p.read(lockFile)
	p.write(lockFile, text+strings.Replace(text[strings.Index(text, "provider "):], "acme/tiny", "acme/gone", 1))
	p.run("state-list").must(t, run.BadInput).says(t, "the lock file of test does not match the providers", "dagger call -y lock-providers --env=test")
	p.write(lockFile, text)
	p.write("environments/test/main.tf", backend+needsTiny("1.1.0"))
	p.run("state-list").must(t, run.BadInput).says(t, "the lock file of test does not match the providers", "dagger call -y lock-providers --env=test")

	p.write("environments/test/main.tf", backend+needsTiny("1.0.0"))
	mirror("1.0.0", pack(t, "1.0.0", "another build"))
	p.run("state-list", ownBuilds).must(t, run.BadInput).says(t, "this machine builds its own from source")
	p.run("state-list").must(t, run.BadInput).says(t, "provider "+registryHost+"/acme/tiny 1.0.0 is a different build from the one in the lock file of test", "dagger call -y lock-providers --env=test")
}
