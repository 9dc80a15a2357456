package environment

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"slipway/internal/redact"
)

// shownPattern matches a type and the path of an attribute, without list indexes.
var shownPattern = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)

func (s *source) checkReview(_ fs.FS, e *Environment) error {
	if e.Review == nil {
		return nil
	}
	if len(e.Review.Show) == 0 {
		return s.Refuse("review", s.Edit("write show: and a list of attributes, or delete the section"), "review has no show")
	}
	for i, name := range e.Review.Show {
		at := fmt.Sprintf("review.show[%d]", i)
		if !shownPattern.MatchString(name) {
			return s.Refuse(at, s.Edit("write it as openstack_compute_instance_v2.flavor_name"), "%q is not a resource type with an attribute", name)
		}
		_, path, _ := strings.Cut(name, ".")
		for part := range strings.SplitSeq(path, ".") {
			if redact.SecretName(part) {
				return s.Refuse(at, s.Edit("delete it: a plan shows its name, and never its value"), "%q looks like a secret", name)
			}
		}
		if slices.Contains(e.Review.Show[:i], name) {
			return s.Refuse(at, s.Edit("keep one of them"), "%q is listed twice", name)
		}
	}
	return nil
}
