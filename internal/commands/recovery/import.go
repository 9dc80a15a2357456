package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/address"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/plan"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// importIDs are the import ID formats of resources for which the resource's own ID is not enough;
// {x} is the value of attribute x. They come from the documentation of these resources at
// https://search.opentofu.org/provider/ovh/ovh/
var importIDs = map[string]string{
	"ovh_cloud_project_database":                 "{service_name}/{engine}/{id}",
	"ovh_cloud_project_database_database":        "{service_name}/{engine}/{cluster_id}/{id}",
	"ovh_cloud_project_database_postgresql_user": "{service_name}/{cluster_id}/{id}",
	"ovh_domain_zone_record":                     "{id}.{zone}",
}

var attributeName = regexp.MustCompile(`\{\w+\}`)

// importID fills in the format of a resource's type. ok is false if a value is not known.
func importID(w wish, id string) (filled string, ok bool) {
	ok = true
	filled = attributeName.ReplaceAllStringFunc(importIDs[w.kind], func(name string) string {
		if name == "{id}" {
			return id
		}
		value, _ := w.values[strings.Trim(name, "{}")].(string)
		ok = ok && value != ""
		return value
	})
	return filled, ok
}

// A wish contains the code's settings for a resource.
type wish struct {
	kind   string         // resource type
	values map[string]any // known attribute values
}

// wishesOf uses a plan to find out what the code says about the resources of entries. What was imported before
// may not be ready: then complete is false, and it lacks what depends on that.
func wishesOf(ctx context.Context, l *layer.Layer, entries, imported []journal.Entry) (wishes map[string]wish, complete bool, err error) {
	if len(entries) == 0 {
		return nil, true, nil
	}
	if complete, err = l.Draft(ctx, tofu.Plan{Targets: addresses(entries)}); err != nil {
		return nil, false, err
	}
	data, err := l.TofuOutput(ctx, "show", tofu.ShowPlanArgs(l.PlanFile())...)
	if err != nil {
		return nil, false, err
	}
	wishes, failed, err := readWishes(data)
	if err != nil {
		return nil, false, fmt.Errorf("the plan of %s is not JSON of a known version", l.Name)
	}
	if complete {
		return wishes, true, nil
	}
	ready := func(at string) bool { return !slices.Contains(addresses(imported), at) }
	if len(failed) == 0 || slices.ContainsFunc(failed, ready) {
		return nil, false, l.Failed(ctx, "plan", nil)
	}
	for _, at := range failed {
		l.Reportf("%s is not ready, so nothing was made that depends on it", at)
	}
	l.Diagnostics = nil
	l.Printed.Reset()
	return wishes, false, nil
}

// readWishes reads them from tofu's output for a plan, by address, and the addresses whose conditions failed.
func readWishes(data []byte) (wishes map[string]wish, failed []string, err error) {
	var document struct {
		Changes []*tfjson.ResourceChange    `json:"resource_changes"`
		Checks  []*tfjson.CheckResultStatic `json:"checks"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, nil, err
	}
	wishes = map[string]wish{}
	for _, c := range document.Changes {
		if c.Change != nil {
			values, _ := c.Change.After.(map[string]any)
			wishes[c.Address] = wish{c.Type, values}
		}
	}
	for _, check := range document.Checks {
		for _, i := range check.Instances {
			if i.Status == tfjson.CheckStatusFail {
				failed = append(failed, i.Address.ToDisplay)
			}
		}
	}
	return wishes, failed, nil
}

func addresses(entries []journal.Entry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Address)
	}
	return list
}

// importAll imports the created resources. It returns those that could not be imported.
func importAll(ctx context.Context, l *layer.Layer, made []journal.Entry) (left []journal.Entry, err error) {
	simple, composed := byID(made)
	if left, err = importSimple(ctx, l, simple); err != nil {
		return nil, err
	}
	more, err := importComposed(ctx, l, composed)
	if err != nil {
		return nil, err
	}
	left = append(left, more...)
	for _, e := range made {
		if !slices.Contains(left, e) {
			l.Reportf("%s was created: importing it into the state (%s)", e.Address, e.IDKey)
		}
	}
	return left, nil
}

// byID separates resources that are imported by their own ID from those that need a composed one.
func byID(made []journal.Entry) (simple, composed []journal.Entry) {
	for _, e := range made {
		if address.OfType(e.Address, func(kind string) bool { return importIDs[kind] != "" }) {
			composed = append(composed, e)
		} else {
			simple = append(simple, e)
		}
	}
	return simple, composed
}

// importSimple imports resources by their own ID. It uses import blocks. If planning them fails, or
// would do more than import, it imports one by one: that changes nothing in any cloud.
func importSimple(ctx context.Context, l *layer.Layer, made []journal.Entry) (left []journal.Entry, err error) {
	if len(made) == 0 {
		return nil, nil
	}
	var blocks strings.Builder
	for _, e := range made {
		fmt.Fprintf(&blocks, "import {\n  to = %s\n  id = %s\n}\n", e.Address, tofu.Quote(e.ID))
	}
	file := filepath.Join(l.Dir, "slipway_recover.tf")
	if err := workspace.Folder(l.Run).Write(workspace.Inside(l.Run, file), []byte(blocks.String())); err != nil {
		return nil, workspace.Full(l.Run, err)
	}
	summary, err := l.Plan(ctx, tofu.Plan{Targets: addresses(made)})
	if ctx.Err() != nil {
		return nil, err
	}
	warnOfReplacements(l, summary)
	if err == nil && imports(summary) {
		if err := l.Tofu(ctx, "apply", tofu.Apply{Plan: l.PlanFile(), Locked: true}.Args()...); err != nil {
			return nil, err
		}
		l.Warn()
		return nil, os.Remove(file)
	}
	l.Diagnostics = nil
	if err := os.Remove(file); err != nil {
		return nil, err
	}
	for _, e := range made {
		ok, err := importOne(ctx, l, e.Address, e.ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			left = append(left, e)
		}
	}
	return left, nil
}

// importComposed imports resources that need a composed ID. What is imported in one round provides
// values for the next: the ID of a database is known for its users when the database is in the
// state.
func importComposed(ctx context.Context, l *layer.Layer, made []journal.Entry) (left []journal.Entry, err error) {
	for len(made) > 0 {
		wishes, _, err := wishesOf(ctx, l, made, nil)
		if err != nil {
			return nil, err
		}
		var later []journal.Entry
		for _, e := range made {
			id, ok := e.ID, true
			if w := wishes[e.Address]; importIDs[w.kind] != "" {
				id, ok = importID(w, e.ID)
			}
			if !ok {
				later = append(later, e)
				continue
			}
			if ok, err = importOne(ctx, l, e.Address, id); err != nil {
				return nil, err
			}
			if !ok {
				left = append(left, e)
			}
		}
		if len(later) == len(made) {
			return append(left, later...), nil
		}
		made = later
	}
	return left, nil
}

// importOne imports one object into the state. ok is false if the provider refuses.
func importOne(ctx context.Context, l *layer.Layer, at, id string) (ok bool, err error) {
	code, err := l.Tool.Run(ctx, &l.Printed, tofu.ImportArgs(at, id)...)
	if err == nil && code == tofu.ExitOK {
		l.Printed.Reset()
		return true, nil
	}
	failure := l.Failed(ctx, "import", err)
	if err != nil || ctx.Err() != nil {
		return false, failure
	}
	return false, nil
}

// imports reports whether a plan only imports and changes nothing. Any changes are left to the next
// apply, which shows them first, and in a protected environment somebody reviews them.
func imports(summary plan.Summary) bool {
	return !slices.ContainsFunc(summary.Changes, func(c plan.Change) bool { return c.Action != plan.Import })
}

// warnOfReplacements names the resources that the next apply will replace although they were just
// created, because their provider cannot read back all attributes that the code sets.
func warnOfReplacements(l *layer.Layer, summary plan.Summary) {
	for _, c := range summary.Changes {
		if c.Imported && c.Action == plan.Replace {
			l.Reportf("%s: the next apply replaces it, because an import does not read its %s", c.Address, strings.Join(c.Forces, ", "))
		}
	}
}
