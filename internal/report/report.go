// Package report shows what plans would change, on a terminal and as Markdown: for any number of
// environments and layers, within any number of bytes. It only sees names and the few values in a
// plan.Summary, and treats them all as plain text: in Markdown each one is in code, where nothing
// becomes a link, a mention or a tag.
package report

import "slipway/internal/plan"

// A Report covers all environments that were to be planned.
type Report struct {
	Environments []Environment `json:"environments,omitempty"`
	// Whole says how to get the full report if it does not fit, such as by `dagger call plan
	// --env=prod`.
	Whole string `json:"whole,omitempty"`
}

// Version is the version of an Environment's JSON, summary.json. Without a version, it is older and
// only has names.
const Version = 2

// An Environment is the part of a report for one environment. Without layers, it could not be
// planned.
type Environment struct {
	Version int     `json:"version,omitempty"`
	Name    string  `json:"name"`
	Error   string  `json:"error,omitempty"`  // why it could not be planned completely; redacted
	Hint    string  `json:"hint,omitempty"`   // what to do about it
	Digest  string  `json:"digest,omitempty"` // digest of the whole plan: an apply with it accepts this plan and no other
	Layers  []Layer `json:"layers,omitempty"`

	// What is to be done after an apply, for whoever applies the plan.
	Playbook bool     `json:"playbook,omitempty"` // deploy: there is a playbook
	Checks   []string `json:"checks,omitempty"`   // verify: the checks that disturb nobody

	Deployment *Deployment `json:"deployment,omitempty"` // how the playbook differs from the deployed one; nil: not known
}

// A Layer is a root module that was planned.
type Layer struct {
	Name     string       `json:"name"` // the environment's name if it has only one layer
	Summary  plan.Summary `json:"summary"`
	Warnings []string     `json:"warnings,omitempty"` // from OpenTofu and the providers, without details
	Note     string       `json:"note,omitempty"`     // for example that it will be planned again
}

// FileName is the file in which a plan leaves its Environment for the comment.
const FileName = "summary.json"
