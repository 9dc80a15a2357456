//go:build blackbox

package main

import (
	"slices"
	"testing"

	"slipway/internal/run"
)

const twoThings = `
variable "size" {
  default = "small"
}

variable "password" {
  type      = string
  sensitive = true
}

resource "terraform_data" "host" {
  input = { name = "web", size = var.size }
}

resource "terraform_data" "secret" {
  input = var.password
}

output "name" {
  value = terraform_data.host.output.name
}

output "password" {
  value     = var.password
  sensitive = true
}
`

// TestBlackBoxLifecycle takes an environment from nothing to running, changes it,
// and destroys it, with the real OpenTofu.
func TestBlackBoxLifecycle(t *testing.T) {
	p := newProject(t, twoThings)
	p.secret["TF_VAR_password"] = "a-password-for-tests"
	p.seal()

	p.run("plan").must(t, run.BadInput).says(t, "has not been prepared for environment test", "hint: dagger call bootstrap --env=test")
	p.run("bootstrap").must(t, run.Done).says(t, "created bucket slipway-test")
	p.run("bootstrap").must(t, run.Done).says(t, "already exists")
	p.run("state-list").must(t, run.Done).says(t, "test: nothing")

	planned := p.run("plan").must(t, run.Changes).says(t, "2 to create", "terraform_data.host", "terraform_data.secret")
	if got := planned.result.Layers[0].Changes["create"]; got != 2 || planned.result.Layers[0].Applied {
		t.Errorf("the result has %+v", planned.result.Layers[0])
	}
	p.run("plan").must(t, run.Changes).says(t, "2 to create")

	p.run("apply").must(t, run.Done).says(t, "name = web", "password = (sensitive)", "terraform_data.host create done")
	p.run("apply").must(t, run.Done).says(t, "No changes", "name = web", "password = (sensitive)")
	p.run("plan").must(t, run.Done).says(t, "No changes")
	p.run("output").must(t, run.Done).says(t, "name = web", "password = (sensitive)")
	p.run("state-list").must(t, run.Done).says(t, "test: terraform_data.host\n", "test: terraform_data.secret\n")

	p.secret["TF_VAR_size"] = "large"
	p.seal()
	changed := p.run("plan").must(t, run.Changes).says(t, "1 to update", "terraform_data.host (input; 1 known after apply)")
	if got := changed.result.Layers[0].Changes; len(got) != 1 || got["update"] != 1 {
		t.Errorf("the result has %v", got)
	}
	p.run("apply").must(t, run.Done)

	p.run("destroy").must(t, run.BadInput).says(t, "destroy deletes everything in environment test", "hint: dagger call destroy --env=test --confirm=test")
	p.run("destroy", func(o *call) { o.add("--confirm=prod") }).must(t, run.BadInput).says(t, `--confirm is "prod"`)
	p.run("destroy", confirm).must(t, run.Done).says(t, "2 to delete")
	p.run("destroy", confirm).must(t, run.Done).says(t, "No changes")
	p.run("state-list").must(t, run.Done).says(t, "test: nothing")
	p.run("recover").must(t, run.Done).says(t, "nothing was interrupted")
	p.run("unlock").must(t, run.Done).says(t, "not locked")
}

// up is bootstrap and apply, and safe to repeat.
func TestBlackBoxUp(t *testing.T) {
	p := newProject(t, one+aHost)
	p.run("up").must(t, run.Done).says(t, "created bucket", "1 to create", "note: not waiting for the hosts")
	p.run("output").must(t, run.Done).says(t, "test: ansible_inventory = {")
	again := p.run("up").must(t, run.Done).says(t, "No changes")
	if slices.ContainsFunc(again.result.Timings, func(s run.Timing) bool { return s.Step == "apply test" }) {
		t.Error("the second up applies")
	}
}

// Layers are applied in order and destroyed in reverse order; each has its own state.
func TestBlackBoxLayers(t *testing.T) {
	p := newProject(t, "")
	root := "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" {}\n"
	p.write("environments/test/environment.yaml", "credentials: [test]\nlayers: [{path: base}, {path: apps/web}]\nstate:\n  s3: {bucket: slipway-test, region: us-east-1, endpoint: \""+p.store.URL+"\"}\n")
	p.write("environments/test/base/main.tf", root)
	p.write("environments/test/apps/web/main.tf", root)

	p.run("up").must(t, run.Done)
	p.run("state-list").must(t, run.Done).says(t, "base: terraform_data.one\napps/web: terraform_data.one\n")
	p.run("plan", func(o *call) { o.OnlyLayer = "apps" }).must(t, run.BadInput).says(t, `environment test has no layer "apps"`, "hint: the layers of test are base, apps/web")
	p.run("destroy", confirm, func(o *call) { o.OnlyLayer = "apps/web" }).must(t, run.Done)
	p.run("state-list").must(t, run.Done).says(t, "base: terraform_data.one\napps/web: nothing\n")
	gone := p.run("destroy", confirm).must(t, run.Done)
	if first := gone.result.Timings; len(first) < 2 || first[1].Step != "init apps/web" {
		t.Errorf("destroy begins with %v", first)
	}
}

// down leaves nothing beside the states.
func TestBlackBoxDown(t *testing.T) {
	p := newProject(t, one)
	p.run("up").must(t, run.Done)
	p.run("plan", keep).must(t, run.Done)
	p.run("drift").must(t, run.Done)
	p.run("down").must(t, run.BadInput).says(t, "hint: dagger call down --env=test --confirm=test")
	for range 2 {
		p.run("down", confirm).must(t, run.Done).says(t, "stored plans and records")
		objects, err := p.bucket().List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.Key != "test/test.tfstate" && o.Key != "test/environment.json" {
				t.Errorf("%s is left", o.Key)
			}
		}
	}
}
