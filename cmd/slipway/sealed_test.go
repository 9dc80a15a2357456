//go:build blackbox

package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"slipway/internal/journal"
	"slipway/internal/manifest"
	"slipway/internal/run"
	"slipway/internal/secrets"
)

// A protected environment takes a plan that was sealed before, once, and no
// other.
func TestBlackBoxProtected(t *testing.T) {
	p := newProject(t, one+aHost)
	p.protected()
	p.run("bootstrap").must(t, run.Done)
	p.run("apply").must(t, run.BadInput).says(t, "there is no plan of test in bucket slipway-test", "hint: dagger call plan --env=test --keep")
	p.run("apply", confirm).must(t, run.BadInput)
	p.run("plan").must(t, run.Changes)
	p.run("apply").must(t, run.BadInput).says(t, "there is no plan of test") // it was not kept
	p.run("state-list").says(t, "nothing")

	planned := p.run("plan", keep).must(t, run.Changes).says(t, "the plan is kept until it is applied", "test: the digest of this plan is sha256:")
	p.run("apply").must(t, run.BadInput).says(t, "environment test is protected, and --digest does not say which plan was reviewed").startsNothing(t)
	p.run("apply", reviewedPlan).must(t, run.BadInput).says(t, "--digest does not say which plan was reviewed")
	p.run("apply", planOf(planned)).must(t, run.BadInput).says(t, "--digest does not say which plan was reviewed")
	p.run("apply", seen(planned)).must(t, run.Done).says(t, "the plan of run run07, made 20", "1 to create", "terraform_data.one create done", "note: not waiting for the hosts")
	p.run("state-list").says(t, "terraform_data.one")
	p.run("apply", seen(planned)).must(t, run.BadInput).says(t, `was already started by run "run11"`)

	// Without changes there is nothing to apply, and that was reviewed, too.
	planned = p.run("plan", keep).must(t, run.Done).says(t, "No changes")
	p.run("apply", seen(planned)).must(t, run.Done).says(t, "No changes")
	p.run("apply", seen(planned)).must(t, run.Done).says(t, "No changes")
}

// An apply takes the plan whose digest was seen: none that was kept before or after it,
// whoever made it.
func TestBlackBoxDigest(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	first := p.run("plan", keep).must(t, run.Changes)
	second := p.run("plan", keep).must(t, run.Changes)
	if first.result.Digest == second.result.Digest {
		t.Fatal("two plans have one digest")
	}
	var summary struct{ Digest string }
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(second.out, "summary.json"))), &summary); err != nil || summary.Digest != second.result.Digest {
		t.Errorf("summary.json has %q, %v", summary.Digest, err)
	}
	if text := readFile(t, filepath.Join(second.out, "summary.md")); !strings.Contains(text, second.result.Digest) {
		t.Errorf("the summary has no digest:\n%s", text)
	}
	p.run("apply", seen(first)).must(t, run.BadInput).says(t, "the plan of test, made by run run03 at ", "has the digest "+second.result.Digest+", not "+first.result.Digest).startsNothing(t)
	p.run("apply", planOf(first), seen(second)).must(t, run.BadInput).startsNothing(t)
	p.run("apply", func(o *call) { o.add("--digest=sha256:x") }).must(t, run.BadInput).says(t, `--digest is "sha256:x", which is not the digest of a plan`)

	// Whoever has the passphrase can forge a manifest, but not its digest.
	p.resign(second, func(m *manifest.Manifest) { m.Commit = "1234567" })
	if err := p.bucket().Write(t.Context(), p.keptManifest(), []byte(readFile(t, filepath.Join(second.out, "plan/test/manifest.json")))); err != nil {
		t.Fatal(err)
	}
	p.run("apply", seen(second)).must(t, run.BadInput).says(t, "not "+second.result.Digest).startsNothing(t)
	p.run("state-list").says(t, "nothing")

	third := p.run("plan", keep).must(t, run.Changes)
	p.run("apply", seen(third)).must(t, run.Done).says(t, "1 to create")
}

// keptManifest is the key of the one that is kept.
func (p *project) keptManifest() string {
	p.t.Helper()
	objects, err := p.bucket().List(p.t.Context(), "plans/")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, o := range objects {
		if strings.HasSuffix(o.Key, "/manifest.json") {
			return o.Key
		}
	}
	p.t.Fatal("no plan is kept")
	return ""
}

// Where reviewers are named, one of them has to sign: who can plan cannot approve.
func TestBlackBoxApprove(t *testing.T) {
	p := newProject(t, one)
	keys := t.TempDir()
	keygen := func(name, passphrase string) (private, public string) {
		t.Helper()
		file := filepath.Join(keys, name)
		if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return file, strings.TrimSpace(readFile(t, file+".pub"))
	}
	alice, aliceLine := keygen("alice", "")
	mallory, _ := keygen("mallory", "")
	locked, lockedLine := keygen("locked", "canary-passphrase")
	p.protected()
	settings := filepath.Join(p.dir, "environments/test/environment.yaml")
	p.file(settings, readFile(t, settings)+"reviewers:\n  - "+aliceLine+"\n  - "+lockedLine+"\n")
	with := func(key string) func(*call) { return func(o *call) { o.add("--signing-key=" + key) } }

	p.run("bootstrap").must(t, run.Done)
	planned := p.run("plan", keep).must(t, run.Changes)
	for range 2 {
		p.run("apply").must(t, run.BadInput).says(t, "has no approval: nobody has signed it", "hint: dagger call approve --env=test --digest="+planned.result.Digest+" --key=file://").startsNothing(t)
		p.run("apply", seen(planned)).must(t, run.BadInput).says(t, "nobody has signed it")
		p.run("approve", seen(planned)).must(t, run.BadInput).says(t, "neither a key nor a signature was given")
		p.run("approve", with(alice)).must(t, run.BadInput).says(t, "no digest was given")
		p.run("approve", seen(planned), with(mallory)).must(t, run.BadInput).says(t, "is not a reviewer")
		p.run("approve", seen(planned), with(locked)).must(t, run.BadInput).says(t, "the key has a passphrase", "hint: echo "+planned.result.Digest+" | ssh-keygen -Y sign -n slipway-plan")
	}
	// A signature of one plan does not count for another, wherever it is stored.
	p.run("approve", seen(planned), with(alice)).must(t, run.Done).says(t, "is approved by alice")
	old := planned
	planned = p.run("plan", keep).must(t, run.Changes)
	p.run("approve", seen(old), with(alice)).must(t, run.BadInput).says(t, "not "+old.result.Digest)
	objects, err := p.bucket().List(t.Context(), "plans/test/approvals/")
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	stray := "plans/test/approvals/" + strings.TrimPrefix(planned.result.Digest, "sha256:") + "/stray.sig"
	if err := p.bucket().Write(t.Context(), stray, p.get(objects[0].Key)); err != nil {
		t.Fatal(err)
	}
	p.run("apply", seen(planned)).must(t, run.BadInput).says(t, "the signature by alice is not for "+planned.result.Digest).startsNothing(t)
	// One that ssh-keygen makes will do.
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "sign", "-n", "slipway-plan", "-f", alice)
	cmd.Stdin = strings.NewReader(planned.result.Digest + "\n")
	signature, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(keys, "signature")
	p.file(file, string(signature))
	p.run("approve", seen(planned), func(o *call) { o.add("--signature=" + file) }).must(t, run.Done)
	// So will one of a plan that was exported, and is not kept.
	exported := p.run("plan").must(t, run.Changes)
	p.run("apply", planOf(exported)).must(t, run.BadInput).says(t, "hint: dagger call approve --env=test --plan=.slipway/plan --digest="+exported.result.Digest)
	p.run("approve", planOf(exported), seen(exported), with(alice)).must(t, run.Done)
	p.run("apply", seen(planned)).must(t, run.Done).says(t, "test: approved by alice", "1 to create")
	p.run("apply", planOf(exported)).must(t, run.BadInput).says(t, "the state has changed")
	p.run("down", confirm, allow("terraform_data.one")).must(t, run.Done)
}

// A plan needs no other credentials than those that environment.yaml has for it; what
// it seals is for those who apply.
func TestBlackBoxPlanCredentials(t *testing.T) {
	p := newProject(t, one)
	planner, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(p.dir, "environments/test/environment.yaml")
	p.file(settings, strings.Replace(readFile(t, settings), "credentials: [test]\n", "credentials: [test]\nplan: {credentials: [test-plan]}\n", 1))
	p.run("plan").must(t, run.BadInput).says(t, "there is no file credentials/test-plan.enc.env")
	data, err := secrets.Seal("credentials/test-plan.enc.env", p.secret, []string{planner.Recipient().String(), p.key.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	p.write("credentials/test-plan.enc.env", string(data))
	p.run("bootstrap").must(t, run.Done)

	key := filepath.Join(t.TempDir(), "planner.txt")
	p.file(key, planner.String()+"\n")
	by := func(o *call) { o.IdentityFile = key }
	planned := p.run("plan", keep, by).must(t, run.Changes)
	for _, stage := range []string{"apply", "destroy", "recover", "unlock"} {
		p.run(stage, by, confirm).must(t, run.BadInput).says(t, "credentials/test.enc.env")
	}
	if sealed, err := os.ReadFile(filepath.Join(planned.out, "plan/test/plan.age")); err != nil || canOpen(t, sealed, planner) || !canOpen(t, sealed, p.key) {
		t.Errorf("the plan is sealed to others: %v", err)
	}
	p.run("apply", seen(planned)).must(t, run.Done).says(t, "1 to create")
	for _, stage := range []string{"output", "state-list", "drift", "plan"} {
		p.run(stage, by).must(t, run.Done)
	}
	// Beside an apply, and after one that was killed: the journal is for those who apply.
	book, err := journal.Open(t.Context(), p.bucket(), []string{p.key.Recipient().String()}, "test/test.tfstate",
		journal.Header{ID: "other", Stage: "apply", Environment: "test", Layer: "test", Started: time.Now().UTC()}, journal.DefaultBeat, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"drift", "plan"} {
		p.run(stage, by).must(t, run.Done).says(t, "note: run other is changing test right now: the plan may already be out of date")
	}
	if err := book.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"drift", "plan"} {
		p.run(stage, by).must(t, run.Done).says(t, "note: run other was interrupted: before the next apply, run dagger call recover --env=test")
	}
	p.run("apply").must(t, run.BadInput).says(t, "was interrupted")
	p.run("recover").must(t, run.Done)
	// Other credentials to plan with are other files.
	planned = p.run("plan", keep, by).must(t, run.Done)
	p.secret["TF_VAR_x"] = "y"
	if data, err = secrets.Seal("credentials/test-plan.enc.env", p.secret, []string{planner.Recipient().String()}); err != nil {
		t.Fatal(err)
	}
	p.write("credentials/test-plan.enc.env", string(data))
	p.run("apply", seen(planned)).must(t, run.BadInput).says(t, "there is no plan of test")
}

func canOpen(t *testing.T, sealed []byte, key *age.X25519Identity) bool {
	t.Helper()
	identity, err := secrets.ParseIdentity(key.String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = identity.Open(sealed)
	return err == nil
}

// What a protected environment loses is named one by one.
func TestBlackBoxGuard(t *testing.T) {
	p := newProject(t, `
resource "terraform_data" "kept" {}
resource "terraform_data" "host" {
  for_each         = toset(["a", "b,c"])
  triggers_replace = 1
}`)
	p.protected()
	p.run("bootstrap").must(t, run.Done)
	planned := seen(p.run("plan", keep).must(t, run.Changes))
	p.run("apply", planned, allow("terraform_data.kept")).must(t, run.BadInput).says(t, "the plan deletes, replaces or forgets nothing, but --allow-destroy names terraform_data.kept")
	p.run("apply", planned).must(t, run.Done)

	p.write("environments/test/main.tf", `terraform {
  backend "s3" {}
}
resource "terraform_data" "host" {
  for_each         = toset(["a", "b,c"])
  triggers_replace = each.key == "a" ? 1 : 2
}
removed {
  from = terraform_data.kept
  lifecycle { destroy = false }
}`)
	again := p.run("plan", keep).must(t, run.Changes)
	planned = seen(again)
	const replaced = `terraform_data.host["b,c"]`
	all := `terraform_data.kept,` + replaced
	p.run("apply", planned).must(t, run.BadInput).says(t, "environment test is protected, the plan deletes, replaces or forgets 2",
		"hint: dagger call apply --env=test --digest="+again.result.Digest+` --allow-destroy='terraform_data.host["b,c"],terraform_data.kept'`)
	p.run("apply", planned, allow(replaced)).must(t, run.BadInput).says(t, "--allow-destroy does not name terraform_data.kept")
	p.run("apply", planned, allow(all+`,terraform_data.host["a"]`)).must(t, run.BadInput).says(t, `--allow-destroy names terraform_data.host["a"], which the plan does not delete`)
	p.run("apply", planned, allow(`terraform_data.host["b`)).must(t, run.BadInput).says(t, "has an unclosed quote")
	p.run("apply", planned, allow(all)).must(t, run.Done).says(t, "1 to replace, 1 to forget")

	const rest = `terraform_data.host["a"],terraform_data.host["b,c"]`
	p.run("destroy", allow(rest)).must(t, run.BadInput).says(t, "destroy deletes everything in environment test")
	p.run("destroy", confirm).must(t, run.BadInput).says(t, "hint: dagger call destroy --env=test --confirm=test --allow-destroy='"+rest+"'")
	p.run("destroy", confirm, allow(rest)).must(t, run.Done).says(t, "2 to delete")
	p.run("state-list").says(t, "nothing")
}

// A later layer is planned when the earlier ones have been applied, never on
// outputs that are not there yet.
func TestBlackBoxSealedLayers(t *testing.T) {
	p := newProject(t, "")
	root := "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" { input = 1 }\n"
	p.write("environments/test/environment.yaml", "protected: true\ncredentials: [test]\nlayers: [{path: base}, {path: apps/web}]\nstate:\n  s3: {bucket: slipway-test, region: us-east-1, endpoint: \""+p.store.URL+"\"}\n")
	p.write("environments/test/base/main.tf", root)
	p.write("environments/test/apps/web/main.tf", root)
	p.run("bootstrap").must(t, run.Done)

	planned := seen(p.run("plan", keep).must(t, run.Changes).says(t, "apps/web: will be planned again when base has been applied"))
	p.run("apply", planned).must(t, run.Half).says(t, "apps/web is not applied: it could not be planned before base was applied", "hint: dagger call plan --env=test --keep")
	p.run("apply", seen(p.run("plan", keep).must(t, run.Changes))).must(t, run.Done)
	p.run("state-list").must(t, run.Done).says(t, "base: terraform_data.one\napps/web: terraform_data.one\n")

	// A plan of the second layer alone holds only while the first stays as it is.
	p.write("environments/test/apps/web/main.tf", strings.Replace(root, "input = 1", "input = 2", 1))
	second := p.run("plan", func(o *call) { o.OnlyLayer = "apps/web" }).must(t, run.Changes)
	p.put("test/base.tfstate", func(old []byte) []byte { return bytes.Replace(old, []byte(`"serial":1`), []byte(`"serial":2`), 1) })
	p.run("apply", planOf(second), func(o *call) { o.OnlyLayer = "apps/web" }).must(t, run.BadInput).says(t, "since the plan of apps/web was made, the state of layer base has changed")
	// The plan of one layer is not accepted for another.
	web, base := filepath.Join(second.out, "plan/apps--web"), filepath.Join(second.out, "plan/base")
	if err := os.Rename(web, base); err != nil {
		t.Fatal(err)
	}
	p.run("apply", planOf(second), func(o *call) { o.OnlyLayer = "base" }).must(t, run.BadInput).says(t, "the plan is for layer apps/web, not base")
}

// Everything that a plan depends on is bound to it: what differs is named, and no
// tool starts.
func TestBlackBoxBindings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *project, planned ended)
		option func(*call)
		says   string
	}{
		"a file":   {change: func(p *project, _ ended) { p.write("modules/x/main.tf", "# new") }, says: "a file of the repository has changed"},
		"the code": {change: func(p *project, _ ended) { p.write("environments/test/more.tf", "") }, says: "a file of the repository"},
		"the right to run it": {change: func(p *project, _ ended) {
			if err := os.Chmod(filepath.Join(p.dir, "environments/test/main.tf"), 0o755); err != nil {
				p.t.Fatal(err)
			}
		}, says: "a file of the repository"},
		"a secret":                    {change: func(p *project, _ ended) { p.secret["TF_VAR_x"] = "y"; p.seal() }, says: "a file of the repository"},
		"the state, by another apply": {change: func(p *project, _ ended) { p.run("apply").must(p.t, run.Done) }, says: "the state has changed"},
		"the state, gone": {change: func(p *project, _ ended) {
			if err := p.bucket().Remove(p.t.Context(), "test/test.tfstate"); err != nil {
				p.t.Fatal(err)
			}
		}, says: "the state has changed"},
		"an image": {option: func(o *call) {
			o.PinsFile = filepath.Join(o.Work, "pins.env")
			if err := os.WriteFile(o.PinsFile, []byte("DEBIAN=docker.io/library/debian:trixie@sha256:"+strings.Repeat("0", 64)+"\n"), 0o600); err != nil {
				panic(err)
			}
		}, says: "the image DEBIAN has changed"},
		"its age": {change: func(p *project, planned ended) {
			p.resign(planned, func(m *manifest.Manifest) { m.Expires = time.Now().Add(-time.Second) })
		}, says: "the plan of test expired at"},
		"another environment": {change: func(p *project, planned ended) {
			p.resign(planned, func(m *manifest.Manifest) { m.Environment = "prod" })
		}, says: "the plan is for environment prod"},
		"a program": {change: func(p *project, planned ended) {
			p.resign(planned, func(m *manifest.Manifest) { m.Bindings.Tools["tofu"] = manifest.Digest([]byte("another")) })
		}, says: "the program tofu has changed"},
		"the plan of another run": {change: func(p *project, planned ended) {
			other := p.run("plan").must(p.t, run.Changes)
			data, err := os.ReadFile(filepath.Join(other.out, "plan/test/plan.age"))
			if err != nil {
				p.t.Fatal(err)
			}
			p.file(filepath.Join(planned.out, "plan/test/plan.age"), string(data))
		}, says: "does not match its manifest"},
		"a newer plan that was kept": {change: func(p *project, planned ended) {
			p.resign(planned, func(m *manifest.Manifest) { m.Created = m.Created.Add(-time.Minute) })
			p.run("plan", keep).must(p.t, run.Changes)
		}, says: "was replaced by the plan of run"},
		"no plan at all": {change: func(p *project, planned ended) {
			if err := os.RemoveAll(filepath.Join(planned.out, "plan")); err != nil {
				p.t.Fatal(err)
			}
		}, says: "there is no plan of test in the folder given with --plan"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, `resource "terraform_data" "one" { input = 1 }`)
			p.run("bootstrap").must(t, run.Done)
			p.run("apply").must(t, run.Done)
			p.write("environments/test/main.tf", "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" { input = 2 }\n")
			planned := p.run("plan").must(t, run.Changes)
			if c.change != nil {
				c.change(p, planned)
			}
			if c.option == nil {
				c.option = func(*call) {}
			}
			refused := p.run("apply", planOf(planned), c.option).must(t, run.BadInput).says(t, c.says, "hint: dagger call plan-files --env=test export --path=.slipway/plan")
			refused.startsNothing(t)
		})
	}
}

// startsNothing fails the test if a tool was started.
func (e ended) startsNothing(t *testing.T) {
	t.Helper()
	for _, timing := range e.result.Timings {
		if timing.Step != "open" {
			t.Errorf("it starts a tool: %v", e.result.Timings)
		}
	}
}

// resign changes a manifest as somebody who knows the passphrase could.
func (p *project) resign(planned ended, change func(*manifest.Manifest)) {
	p.t.Helper()
	path := filepath.Join(planned.out, "plan/test/manifest.json")
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := manifest.Open(data, passphrase)
	if err != nil {
		p.t.Fatal(err)
	}
	change(&m)
	if data, err = manifest.Seal(m, passphrase); err != nil {
		p.t.Fatal(err)
	}
	p.file(path, string(data))
}

// A plan that was made from an empty state is not applied on top of another
// state, and no plan twice, also where the bucket has forgotten that it was.
func TestBlackBoxReplay(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	first := p.run("plan").must(t, run.Changes)
	p.run("apply", planOf(first)).must(t, run.Done)
	p.run("apply", planOf(first)).must(t, run.BadInput).says(t, "was already started by run")
	objects, err := p.bucket().List(t.Context(), "plans/")
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	if err := p.bucket().Remove(t.Context(), objects[0].Key); err != nil {
		t.Fatal(err)
	}
	p.run("apply", planOf(first)).must(t, run.BadInput).says(t, "the state has changed").startsNothing(t)
	p.run("destroy", confirm).must(t, run.Done)
	p.run("apply", planOf(first)).must(t, run.BadInput).says(t, "the state has changed")
	p.run("state-list").says(t, "nothing")
}

// No field of a manifest and no byte of a plan can be another one: the provider,
// which notes its starts, is not started.
func TestBlackBoxTampered(t *testing.T) {
	p := newProject(t, "")
	cloud := p.onCloud()
	p.run("bootstrap").must(t, run.Done)
	planned := p.run("plan", func(o *call) { o.add("--commit=1234567"); o.add("--base=7654321") }).must(t, run.Changes)
	folder := filepath.Join(planned.out, "plan/test")
	if cloud.started() == 0 {
		t.Fatal("the provider does not note its starts")
	}
	refused := func(what string) {
		t.Helper()
		e := p.run("apply", planOf(planned))
		if n := cloud.started(); n > 0 {
			t.Errorf("%s: the provider was started", what)
		}
		if e.code != run.BadInput {
			t.Fatalf("%s: exit code %d\n%s%s", what, e.code, e.stdout, e.stderr)
		}
		e.startsNothing(t)
	}

	path := filepath.Join(folder, "manifest.json")
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(original, &fields); err != nil {
		t.Fatal(err)
	}
	flips := 0
	var flip func(name string, at map[string]any)
	flip = func(name string, at map[string]any) {
		for key, value := range at {
			where := name + "." + key
			switch value := value.(type) {
			case map[string]any:
				flip(where, value)
				continue
			case string:
				at[key] = value + "x"
			case bool:
				at[key] = !value
			case float64:
				at[key] = value + 1
			case []any:
				at[key] = append(value, "x")
			default:
				t.Fatalf("%s is a %T", where, value)
			}
			data, err := json.MarshalIndent(fields, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			p.file(path, string(data))
			refused(where)
			at[key] = value
			flips++
		}
	}
	flip("manifest", fields)
	if flips < 14 {
		t.Errorf("only %d fields were tried", flips)
	}
	p.file(path, string(original))

	path = filepath.Join(folder, "plan.age")
	sealed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 3*16)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		at := (int(random[3*i])<<8 | int(random[3*i+1])) % len(sealed)
		changed := bytes.Clone(sealed)
		changed[at] ^= random[3*i+2] | 1
		p.file(path, string(changed))
		refused(fmt.Sprintf("byte %d of the plan", at))
	}
	for name, changed := range map[string][]byte{"empty": nil, "cut": sealed[:len(sealed)-1], "longer": append(bytes.Clone(sealed), 0)} {
		p.file(path, string(changed))
		refused("a plan that is " + name)
	}
	p.file(path, string(sealed))

	// As it was made, it is taken.
	p.run("apply", planOf(planned)).must(t, run.Done)
	cloud.call(http.MethodGet, "/compute/v2.1/os-keypairs/operator", "", http.StatusOK)
}

// Two applies of one plan at once: one does it, and the other is refused.
func TestBlackBoxTwoReviewed(t *testing.T) {
	p := newProject(t, `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "sleep 3"
  }
}`)
	p.protected()
	p.run("bootstrap").must(t, run.Done)
	planned := p.run("plan", keep).must(t, run.Changes)
	var both [2]ended
	calls := [2]call{p.options("apply"), p.options("apply")}
	var group sync.WaitGroup
	for i := range both {
		group.Go(func() {
			var output bytes.Buffer
			o := calls[i]
			seen(planned)(&o)
			o.Stdout, o.Stderr = &output, &output
			both[i] = ended{code: o.main(t.Context()), stdout: output.String()}
		})
	}
	group.Wait()
	refused := both[0]
	if both[0].code == run.Done {
		refused = both[1]
	}
	if both[0].code+both[1].code != run.Done+run.BadInput || !strings.Contains(refused.stdout, "run") {
		t.Errorf("%d: %s\n%d: %s", both[0].code, both[0].stdout, both[1].code, both[1].stdout)
	}
	p.run("state-list").says(t, "test: terraform_data.slow\n")
	p.run("plan").must(t, run.Done)
}
