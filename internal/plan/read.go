package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/redact"
)

var errUnknown = errors.New("the plan is not JSON of a known version")

// A reading is a partly read plan.
type reading struct {
	stream
	allowed   allowList
	version   string
	summary   Summary
	variables map[string]any
	secret    map[string]bool // names of the sensitive variables
	sensitive []string
	depth     int // nesting depth of the module that is being read
}

// Read reduces the output of `tofu show -json` for a saved plan, in one pass. It also returns the
// values that are marked as sensitive: the mask needs them before a provider's error message may be
// shown. Its errors contain nothing from the plan. show extends the table of values that are shown,
// as type.attribute or type.attribute.part.
func Read(from io.Reader, show ...string) (Summary, []string, error) {
	r := reading{stream: newStream(from), allowed: allowing(show), variables: map[string]any{}, secret: map[string]bool{}}
	err := r.object(r.part)
	if r.version != "" && !known(r.version) {
		return Summary{}, nil, refuse(r.version)
	}
	if err != nil || r.version == "" || r.end() != nil {
		return Summary{}, nil, errUnknown
	}
	for name := range r.secret {
		r.hide(name, r.variables[name], true)
	}
	r.order()
	found := r.found()
	r.conceal(found)
	return r.summary, found, nil
}

// part reads one section of a plan. Most sections only repeat what the changes say, and are
// skipped.
func (r *reading) part(name string) error {
	switch name {
	case "format_version":
		if err := r.Decode(&r.version); err != nil {
			return err
		}
		if !known(r.version) {
			return errUnknown
		}
		return nil
	case "errored":
		return r.Decode(&r.summary.Errored)
	case "complete": // only written by Terraform
		complete := true
		err := r.Decode(&complete)
		r.summary.Partial = !complete
		return err
	case "resource_changes":
		return r.array(r.resource)
	case "resource_drift":
		return r.array(r.drift)
	case "output_changes":
		return r.object(r.output)
	case "variables":
		return r.object(r.variable)
	case "configuration":
		return r.configuration()
	case "prior_state":
		return r.state()
	case "planned_values": // repeats the changes; in one piece, it would fill the memory
		return r.object(func(name string) error {
			if name != "root_module" {
				return r.skip()
			}
			return r.module(r.skip)
		})
	default:
		return r.skip()
	}
}

func known(version string) bool {
	return (&tfjson.Plan{FormatVersion: version}).Validate() == nil
}

var aVersion = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9}){0,2}$`)

func refuse(version string) error {
	if !aVersion.MatchString(version) {
		return errUnknown // unknown section
	}
	return fmt.Errorf("the plan has JSON format version %s, which is not supported", version)
}

func (r *reading) resource() error {
	rc, err := r.resourceChange()
	if err != nil {
		return err
	}
	if c, ok := reduce(rc, r.allowed.of(rc.Type)); ok {
		r.summary.Changes = append(r.summary.Changes, c)
	}
	return nil
}

func (r *reading) drift() error {
	rc, err := r.resourceChange()
	if err != nil {
		return err
	}
	if rc.Change.Actions.NoOp() {
		return nil // a move, which the plan itself reports
	}
	d := Drift{Address: rc.Address, Deleted: rc.Change.Actions.Delete()}
	if !d.Deleted {
		d.Attributes = drifted(rc.Change)
		if len(d.Attributes) == 0 {
			return nil
		}
		d.Values, _ = changed(rc.Change, d.Attributes, r.allowed.of(rc.Type))
	}
	r.summary.Drift = append(r.summary.Drift, d)
	return nil
}

// resourceChange reads one resource and records its sensitive values.
func (r *reading) resourceChange() (*tfjson.ResourceChange, error) {
	rc := &tfjson.ResourceChange{}
	if err := r.Decode(rc); err != nil {
		return nil, err
	}
	if rc.Address == "" || rc.Change == nil {
		return nil, errShape
	}
	r.hideChange("", rc.Change)
	return rc, nil
}

func (r *reading) output(name string) error {
	var c tfjson.Change
	if err := r.Decode(&c); err != nil {
		return err
	}
	r.hideChange(name, &c)
	if !c.Actions.NoOp() {
		r.summary.Outputs = append(r.summary.Outputs, name)
	}
	return nil
}

// conceal removes values that the plan marks as sensitive elsewhere.
func (r *reading) conceal(sensitive []string) {
	secret := map[string]bool{}
	for _, value := range sensitive {
		secret[value] = true
	}
	known := sync.OnceValue(func() *redact.Set { return redact.New(sensitive...) })
	mask := func(text string) string {
		bare, err := strconv.Unquote(text)
		if secret[text] || err == nil && secret[bare] { // even if it is too short for the mask
			return redact.Mask
		}
		return known().String(text)
	}
	for i := range r.summary.Changes {
		c := &r.summary.Changes[i]
		c.Values = Concealed(c.Values, mask)
	}
	for i := range r.summary.Drift {
		d := &r.summary.Drift[i]
		d.Values = Concealed(d.Values, mask)
	}
}

// order sorts the summary and finds the drift that the plan answers.
func (r *reading) order() {
	s := &r.summary
	slices.SortStableFunc(s.Changes, func(a, b Change) int {
		return cmp.Or(slices.Index(Actions, a.Action)-slices.Index(Actions, b.Action), cmp.Compare(a.Address, b.Address))
	})
	slices.SortStableFunc(s.Drift, func(a, b Drift) int { return cmp.Compare(a.Address, b.Address) })
	slices.Sort(s.Outputs)
	answered := map[string]bool{}
	for _, c := range s.Changes {
		if c.touches() {
			answered[c.Address] = true
		}
	}
	for i := range s.Drift {
		s.Drift[i].Answered = answered[s.Drift[i].Address]
	}
}
