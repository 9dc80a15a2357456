//go:build blackbox

package main

import (
	"strings"
	"testing"

	"slipway/internal/run"
)

// Files are in the standard form, or named.
func TestBlackBoxFormat(t *testing.T) {
	p := newProject(t, "")
	p.run("fmt").must(t, run.Done).says(t, "every file is in the standard format\n")
	p.write("modules/a/main.tf", "locals {\n    a=1\n}\n")
	p.write("environments/test/more.tf", "locals {\n    b=1\n}\n")
	p.run("fmt").must(t, run.BadInput).says(t, "modules/a/main.tf\n", "environments/test/more.tf\n", "2 files are not in the standard format", "hint: tofu fmt -recursive")
	p.write("modules/a/main.tf", "locals {")
	p.write("environments/test/more.tf", "")
	p.run("fmt").must(t, run.Failed).says(t, "tofu fmt failed: ", "Unclosed configuration block")
}

// Every root module is checked, and those that are not valid are named.
func TestBlackBoxValidate(t *testing.T) {
	p := newProject(t, one)
	p.write("environments/other/environment.yaml", strings.ReplaceAll(readFile(t, p.dir+"/environments/test/environment.yaml"), "credentials: [test]\n", ""))
	p.write("environments/other/main.tf", "terraform {\n  backend \"s3\" {}\n}\n")
	all := func(o *call) { o.Env = "" }
	p.run("validate").must(t, run.Done).says(t, "environments/test: valid\n")
	p.run("validate", all).must(t, run.Done).says(t, "environments/other: valid\n", "environments/test: valid\n")

	p.write("environments/other/main.tf", "terraform {\n  backend \"s3\" {}\n}\noutput \"x\" {\n  value = local.none\n}\n")
	p.run("validate").must(t, run.Done)
	e := p.run("validate", all).must(t, run.Failed).says(t, "environments/test: valid\n", "environments/other: error: Reference to undeclared local value (main.tf:5)", "not valid: environments/other")
	if strings.Contains(e.stdout, "environments/other: valid") {
		t.Errorf("it says of what is not valid that it is:\n%s", e.stdout)
	}
	// One that cannot even be prepared.
	p.write("environments/other/main.tf", "module \"x\" {\n  source = \"./none\"\n}\n")
	e = p.run("validate", all).must(t, run.Failed).says(t, "environments/test: valid\n", "environments/other: ", "Unreadable module directory", "not valid: environments/other")
	if strings.Contains(e.stdout, "environments/other: error: ") {
		t.Errorf("it goes on with what cannot be prepared:\n%s", e.stdout)
	}
	p.run("validate", func(o *call) { o.Env = "none" }).must(t, run.BadInput).says(t, `there is no environment "none"`)
}

const output = "output \"x\" {\n  value = 1\n}\n"

const passing = `
run "plans" {
  command = plan
  assert {
    condition     = output.x == 1
    error_message = "never"
  }
}
`

// The tests of all modules are run. One that fails is a failure, and so is a module whose
// files of tests hold none, or whose test leaves something behind.
func TestBlackBoxModuleTests(t *testing.T) {
	p := newProject(t, "")
	p.run("test").must(t, run.BadInput).says(t, "no module has a test", "hint: $EDITOR modules/<name>/tests/<what>.tftest.hcl")

	p.write("modules/a/main.tf", output)
	p.write("modules/a/tests/one.tftest.hcl", passing)
	p.write("modules/a/tests/two.tofutest.hcl", passing)
	p.write("modules/b/main.tf", output)
	p.write("modules/b/b.tftest.hcl", passing)
	e := p.run("test").must(t, run.Done).says(t, "modules/a: plans pass\n", "modules/a: 2 passed, 0 failed\n", "modules/b: 1 passed, 0 failed\n")
	if n := strings.Count(e.stdout, " passed, "); n != 2 {
		t.Errorf("%d modules were tested:\n%s", n, e.stdout)
	}

	for name, c := range map[string]struct{ main, test, says string }{
		"a test that fails": {test: strings.ReplaceAll(passing, "x == 1", "x == 2"), says: "modules/b: plans fail\nmodules/b: error: Test assertion failed (b.tftest.hcl:5)\n  never\nmodules/b: 0 passed, 1 failed\n"},
		"no test":           {test: "variables {}\n", says: "modules/b: 0 passed, 0 failed\n"},
		"no module":         {main: "module \"x\" {\n  source = \"./none\"\n}\n", test: passing, says: "Unreadable module directory"},
		"something left": {
			main: "resource \"terraform_data\" \"stays\" {\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"exit 1\"\n  }\n}\n",
			test: strings.ReplaceAll(passing, "plan\n", "apply\n"), says: "modules/b: a test created resources that could not be destroyed\nmodules/b: 1 passed, 1 failed\n",
		},
	} {
		p.write("modules/b/main.tf", output+c.main)
		p.write("modules/b/b.tftest.hcl", c.test)
		e := p.run("test")
		if e.code != run.Failed {
			t.Errorf("%s: exit code %d\n%s", name, e.code, e.stdout)
		}
		e.says(t, "modules/a: 2 passed, 0 failed\n", c.says, "tests failed in modules/b\n")
	}
}

// The servers of a protected environment are not shut down by mistake.
func TestBlackBoxProtectedStop(t *testing.T) {
	p := newProject(t, one)
	p.run("bootstrap").must(t, run.Done)
	p.run("stop").must(t, run.Done).says(t, "test has no servers\n")
	p.protected()
	p.run("stop").must(t, run.BadInput).says(t, "environment test is protected, and stop shuts down its servers", "hint: dagger call stop --env=test --confirm=test")
	p.run("stop", confirm).must(t, run.Done).says(t, "test has no servers\n")
	p.run("start").must(t, run.Done).says(t, "test has no servers\n")
	p.run("status").must(t, run.Done).says(t, "test has no servers and no databases\n")
}
