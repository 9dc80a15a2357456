// Package clustertool judges calls of kubectl, talosctl and helm before they run: which of them only read, and which
// are refused because they would leave the environment's cluster or its rules, or need a terminal.
package clustertool

import (
	"slices"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/printable"
)

// A Tool is a program with which people work on a cluster. Patterns are those of match.
type Tool struct {
	Name string

	values  []string          // flags of every command that have a value: their names and letters
	plain   []string          // flags of every command that have none
	letters map[string]string // further letters without a value, by command; "": of any
	nodes   []string          // flags whose values are nodes

	reads   []string // patterns of the commands that only read
	unless  []string // flags with which they do not
	selects []string // flags that choose another cluster, or another login
	refused []refusal
}

// A refusal is of a command that does not run here.
type refusal struct {
	pattern string
	with    []string // flags with which it is refused; none: always
	why     string
	hint    string // with ENV in place of the environment
}

// noTerminal is why interactive commands are refused.
const noTerminal = "it needs a terminal, and a call has none"

// A Call is a call of a tool that may run.
type Call struct {
	Tool  Tool
	Args  []string
	Verb  string // such as "get" or "rollout restart": without arguments, which can be secret
	Reads bool   // it changes nothing on the cluster

	env string
}

// Parse judges a call on the cluster of an environment.
func (t Tool) Parse(env string, args []string) (Call, error) {
	if len(args) == 0 {
		return Call{}, fault.Refuse(t.call(env, "version"), "%s was given no arguments", t.Name)
	}
	words, stop := t.words(args)
	if len(words) == 0 && stop != "" {
		return Call{}, fault.Refuse(t.call(env, "COMMAND", stop), "%s is before the command, where only flags of every command may be", printable.Line(stop))
	}
	c := Call{Tool: t, Args: args, Verb: t.verb(words), env: env}
	options := t.options(c.Verb, args)
	for _, o := range options {
		if o.among(t.selects) {
			return Call{}, fault.Refuse(t.call(env, "COMMAND")+"   # without it: the cluster is that of the environment",
				"%s selects another cluster or another login than those of environment %s", o.spelled(), env)
		}
	}
	for _, r := range t.refused {
		if match(r.pattern, words, stop != "") && (r.with == nil || slices.ContainsFunc(options, func(o option) bool { return o.among(r.with) })) {
			return Call{}, fault.Refuse(strings.ReplaceAll(r.hint, "ENV", env), "%s %s is refused: %s", t.Name, c.Verb, r.why)
		}
	}
	reads := func(pattern string) bool { return match(pattern, words, stop != "") }
	c.Reads = len(words) == 0 || slices.ContainsFunc(t.reads, reads) && !slices.ContainsFunc(options, func(o option) bool { return o.among(t.unless) })
	return c, nil
}

// call returns the call of the module that runs the tool with these arguments.
func (t Tool) call(env string, args ...string) string {
	return "dagger call cluster " + t.Name + " --env=" + env + " --args=" + printable.Word(strings.Join(args, ","))
}

// Again is the call in a hint. Its arguments are left out, as they can be secret.
func (c Call) Again() string { return c.Tool.call(c.env, append(strings.Fields(c.Verb), "…")...) }

// String is the call without its arguments.
func (c Call) String() string { return c.Tool.Name + " " + c.Verb }

// verb returns the command in words: its first, and the second if the first is only a group of commands.
func (t Tool) verb(words []string) string {
	switch {
	case len(words) == 0:
		return "help"
	case len(words) > 1 && t.group(words[0]):
		return words[0] + " " + words[1]
	}
	return words[0]
}

func (t Tool) group(word string) bool {
	return slices.ContainsFunc(t.reads, func(pattern string) bool {
		first, second, _ := strings.Cut(pattern, " ")
		return first == word && second != "" && !strings.HasPrefix(second, anyWord) && !strings.HasPrefix(second, theEnd)
	})
}

// In a pattern, anyWord stands for every word, and theEnd for the end of the call: nothing may follow.
const (
	anyWord = "*"
	theEnd  = "$"
)

// match reports whether words begin as a pattern says. more means that further words may follow.
func match(pattern string, words []string, more bool) bool {
	for i, p := range strings.Fields(pattern) {
		switch {
		case p == theEnd:
			return i == len(words) && !more
		case i >= len(words) || p != anyWord && p != words[i]:
			return false
		}
	}
	return true
}
