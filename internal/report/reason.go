package report

import (
	"strings"

	"slipway/internal/plan"
)

// reasons explains OpenTofu's reason codes.
//
// https://github.com/opentofu/opentofu/blob/main/internal/command/jsonplan/plan.go
var reasons = map[string]string{
	"replace_because_cannot_update":              "cannot be updated in place",
	"replace_because_tainted":                    "tainted",
	"replace_by_request":                         "requested by -replace",
	"replace_by_triggers":                        "forced by replace_triggered_by",
	"delete_because_no_resource_config":          "removed from code",
	"delete_because_no_module":                   "module removed from code",
	"delete_because_no_move_target":              "moved to an address that is not in the code",
	"delete_because_wrong_repetition":            "count or for_each was added, removed or exchanged",
	"delete_because_count_index":                 "index beyond count",
	"delete_because_each_key":                    "no longer in for_each",
	"delete_because_enabled_false":               "enabled is false",
	"forgot_because_lifecycle_destroy_in_state":  keptByLifecycle,
	"forgot_because_lifecycle_destroy_in_config": keptByLifecycle,
}

const keptByLifecycle = "lifecycle has destroy = false"

// reason says why a change is made. OpenTofu also gives a reason for replacement to a resource that
// is created for the first time.
func reason(c plan.Change) string {
	if c.Action == plan.Create {
		return ""
	}
	if len(c.Forces) > 0 {
		text := "forced by " + names(c.Forces)
		if c.Reason == "" || c.Reason == "replace_because_cannot_update" {
			return text // the code adds nothing
		}
		return text + "; " + reasonText(c.Reason)
	}
	return reasonText(c.Reason)
}

func reasonText(word string) string {
	if text, ok := reasons[word]; ok || word == "" {
		return text
	}
	return strings.ReplaceAll(name(word), "_", " ") // from a newer OpenTofu
}
