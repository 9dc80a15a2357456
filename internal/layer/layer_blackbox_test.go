//go:build blackbox

package layer_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// init reads the state before tofu does, and shows why it failed.
func TestBlackBoxInit(t *testing.T) {
	t.Parallel()
	d := testkit.NewSealedShop(t, "")
	must.Do(t, d.Init(t.Context()))
	if d.Printed.String() != "" {
		t.Errorf("it keeps %s", d.Printed.String())
	}
	d.File("main.tf", "terraform {")
	must.Fail(t, d.Init(t.Context()), "tofu init of test failed")
	if !strings.Contains(d.Complaints.String(), "Unclosed configuration block") {
		t.Errorf("complaints: %s", d.Complaints.String())
	}
	must.Do(t, d.Store.Write(t.Context(), d.Key, []byte(`{"version":4,"serial":9,"lineage":"x"}`)))
	must.Fail(t, d.Init(t.Context()), "is not encrypted")
}

// The chosen layers are handled in order, and the first failure ends the run.
func TestBlackBoxEach(t *testing.T) {
	t.Parallel()
	d := testkit.New(t)
	d.Work = testkit.ForTools(t)
	d.WithCode(testkit.TwoLayers)
	var names []string
	must.Do(t, layer.Each(t.Context(), d.Opened(), func(l *layer.Layer) error { names = append(names, l.Name); return nil }))
	if got := strings.Join(names, " "); got != "net app" {
		t.Errorf("it handles %s", got)
	}
	d.Work, names = testkit.ForTools(t), nil
	err := layer.Each(t.Context(), d.Run, func(l *layer.Layer) error { names = append(names, l.Name); return errors.New("of " + l.Name) })
	must.Fail(t, err, "of net")
	d.Work = testkit.ForTools(t)
	if got := strings.Join(names, " "); got != "net" {
		t.Errorf("it goes on: %s", got)
	}
}

// A plan that fails says why, masked, and leaves no summary.
func TestBlackBoxPlannedFails(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, testkit.ShopCode)
	d.Apply()
	d.File("main.tf", testkit.ShopCode+"resource \"terraform_data\" \"three\" {\n  lifecycle {\n    precondition {\n      condition     = terraform_data.one.output == \"two\"\n      error_message = \"it is not two\"\n    }\n  }\n}\n")
	summary, err := d.Plan(t.Context(), tofu.Plan{})
	must.Fail(t, err, "tofu plan of test failed")
	if !summary.Empty() || !strings.Contains(d.Complaints.String(), "test: error: Resource precondition failed") || !strings.Contains(d.Complaints.String(), "it is not two") {
		t.Errorf("%+v, complaints: %s", summary, d.Complaints.String())
	}
	// OpenTofu leaves what it had planned by then.
	_, err = d.ReadPlan(t.Context())
	must.Fail(t, err, "the plan of test is incomplete and cannot be applied")
	must.Do(t, workspace.Folder(d.Run).Write(workspace.Inside(d.Run, d.PlanFile()), []byte("no plan")))
	_, err = d.ReadPlan(t.Context())
	must.Fail(t, err, "tofu show of test failed")
}

// A warning is kept even if there is nothing to change.
func TestBlackBoxPlanForDrift(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, testkit.ShopCode+"check \"size\" {\n  assert {\n    condition     = terraform_data.one.output == \"two\"\n    error_message = \"it is too small\"\n  }\n}\n")
	d.Apply()
	d.Warnings = nil
	summary, err := d.PlanForDrift(t.Context())
	must.Do(t, err)
	if !summary.Empty() || !slices.Equal(d.Warnings, []string{"warning: Check block assertion failed (main.tf:15)"}) {
		t.Errorf("%+v, warnings %q", summary, d.Warnings)
	}
}

// Outputs are shown, those that are sensitive by name only.
func TestBlackBoxOutputs(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, testkit.ShopCode)
	if outputs, err := d.Outputs(t.Context()); err != nil || len(outputs) != 0 {
		t.Errorf("%v, %v", outputs, err)
	}
	d.Apply()
	d.Mask = run.NewMask()
	outputs, err := d.Outputs(t.Context())
	must.Do(t, err)
	d.ShowOutputs(outputs)
	if text := d.Text(); text != "test: name = one\ntest: password = (sensitive)\n" {
		t.Errorf("it says %s", text)
	}
	if text := d.Mask.String("it is a-password-of-the-shop"); strings.Contains(text, "of-the-shop") {
		t.Error(text)
	}
	d.File("terraform.tfstate", "{")
	if _, err := d.Outputs(t.Context()); err == nil {
		t.Error("a damaged state has outputs")
	}
}

// The state lists its managed resources, including those of modules, and forgets addresses on
// request.
func TestBlackBoxRecorded(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, "module \"child\" {\n  source = \"./child\"\n}\ndata \"terraform_remote_state\" \"x\" {\n  backend = \"local\"\n  config = {path = \"${path.module}/other\"}\n}\nresource \"terraform_data\" \"one\" {}\n",
		"child/main.tf", "resource \"terraform_data\" \"within\" {}\n", "other", `{"version": 4, "terraform_version": "1.12.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": []}`)
	d.Apply()
	if got := d.InState(); got != "module.child.terraform_data.within terraform_data.one" {
		t.Errorf("the state has %q", got)
	}
	d.File("terraform.tfstate", "{")
	_, err := d.Recorded(t.Context())
	must.Fail(t, err, "tofu show of test failed")
}

// What the state marks as sensitive becomes known to the mask; what tofu says where that
// fails is not kept.
func TestBlackBoxLearn(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, testkit.ShopCode)
	d.Apply()
	d.Mask = run.NewMask()
	must.Do(t, d.Learn(t.Context()))
	if text := d.Mask.String("it is a-password-of-the-shop"); strings.Contains(text, "of-the-shop") {
		t.Error(text)
	}
	d.Printed.Reset()
	d.File("terraform.tfstate", "{")
	must.Fail(t, d.Learn(t.Context()), "tofu show ended with code 1")
	if text := d.Printed.String(); text != "" {
		t.Errorf("it keeps %s", text)
	}
}

// A state whose key was derived in another way, as an earlier version did, can be read, and is
// written in today's way.
func TestBlackBoxOtherDerivation(t *testing.T) {
	t.Parallel()
	d := testkit.NewSealedShop(t, "resource \"terraform_data\" \"one\" { input = \"one\" }\n")
	env := d.Tool.Env
	d.Tool.Env = slices.Clone(env)
	for i := range d.Tool.Env {
		d.Tool.Env[i] = strings.ReplaceAll(d.Tool.Env[i], `"hash_function":"sha256"`, `"hash_function":"sha512"`)
	}
	if slices.Equal(d.Tool.Env, env) {
		t.Fatal("the key is derived in the same way")
	}
	must.Do(t, d.Init(t.Context()))
	d.Apply()
	d.Tool.Env = env
	must.Do(t, d.Init(t.Context()))
	if summary, err := d.Plan(t.Context(), tofu.Plan{}); err != nil || !summary.Empty() {
		t.Errorf("%+v, %v", summary, err)
	}
	d.File("more.tf", "resource \"terraform_data\" \"two\" {}\n")
	d.Apply()
	data, err := d.Store.Read(t.Context(), d.Key)
	must.Do(t, err)
	var sealed struct {
		Meta map[string]string `json:"meta"`
	}
	must.Do(t, json.Unmarshal(data, &sealed))
	for name, meta := range sealed.Meta {
		text, err := base64.StdEncoding.DecodeString(meta)
		if err != nil || !strings.Contains(string(text), `"hash_function":"sha256"`) {
			t.Errorf("%s is %s, %v", name, text, err)
		}
	}
	if len(sealed.Meta) != 1 {
		t.Errorf("the state has the keys %v", sealed.Meta)
	}
}
