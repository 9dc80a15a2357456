// Package report shows what plans would change, on a terminal and as Markdown: for
// any number of environments and layers, in any number of bytes. It sees names, and
// the few values that a plan.Summary holds, and it lets none be more than text: in
// Markdown each one stands in code, where nothing is a link, a mention or a tag.
package report

import "slipway/internal/plan"

// A Report is on all environments that were to be planned.
type Report struct {
	Environments []Environment `json:"environments,omitempty"`
	// Whole says where all of it is to be had if not all of it fits, such as by
	// `dagger call plan --env=prod`.
	Whole string `json:"whole,omitempty"`
}

// Version is that of an Environment's JSON, summary.json. One without a version is older
// and has names only.
const Version = 2

// An Environment is one of them. One without layers could not be planned.
type Environment struct {
	Version int     `json:"version,omitempty"`
	Name    string  `json:"name"`
	Error   string  `json:"error,omitempty"`  // why it could not be planned, or not all of it; redacted
	Hint    string  `json:"hint,omitempty"`   // what to do about that
	Digest  string  `json:"digest,omitempty"` // of the whole plan: by it an apply takes this one and no other
	Layers  []Layer `json:"layers,omitempty"`
}

// A Layer is a root module that was planned.
type Layer struct {
	Name     string       `json:"name"` // that of the environment, if it has but one
	Summary  plan.Summary `json:"summary"`
	Warnings []string     `json:"warnings,omitempty"` // of OpenTofu and the providers, without their details
	Note     string       `json:"note,omitempty"`     // such as that it will be planned again
}

// FileName is the file in which a plan leaves its Environment for the comment.
const FileName = "summary.json"
