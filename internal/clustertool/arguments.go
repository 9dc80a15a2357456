package clustertool

import (
	"slices"
	"strings"
)

// An option is a flag in the arguments of a call, as the tools' library for flags reads it.
type option struct {
	name string // a long name or a letter
	at   int    // index of its argument
	// begin is where in that argument its value begins. 0: it has none there, so the next argument is the value, if the
	// flag has one.
	begin int
}

// among reports whether the option is one of these flags. kubectl takes _ for -.
func (o option) among(names []string) bool {
	return slices.Contains(names, strings.ReplaceAll(o.name, "_", "-"))
}

// spelled is the option in a message, without its value.
func (o option) spelled() string {
	if len(o.name) == 1 {
		return "-" + o.name
	}
	return "--" + o.name
}

// words returns the arguments that are not flags, up to the first flag that only some commands have, which is stop: the
// argument after it may be its value. After "--", which is one as well, arguments can be those of another program.
func (t Tool) words(args []string) (words []string, stop string) {
	for i := 0; i < len(args); i++ {
		if !isFlag(args[i]) {
			words = append(words, args[i])
			continue
		}
		found := t.flags("", args[i], i)
		last := found[len(found)-1]
		switch {
		case last.among(t.values):
			if last.begin == 0 {
				i++
			}
		case !last.among(t.plain):
			return words, args[i]
		}
	}
	return words, ""
}

// options returns all flags of a call. After "--" there are none.
func (t Tool) options(verb string, args []string) (list []option) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if !isFlag(args[i]) {
			continue
		}
		found := t.flags(verb, args[i], i)
		list = append(list, found...)
		if last := found[len(found)-1]; last.begin == 0 && last.among(t.values) {
			i++
		}
	}
	return list
}

func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// flags returns the flags in one argument: several, if it has letters that take no value.
func (t Tool) flags(verb, arg string, at int) (list []option) {
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		name, _, inline := strings.Cut(long, "=")
		o := option{name: name, at: at}
		if inline {
			o.begin = len("--") + len(name) + len("=")
		}
		return []option{o}
	}
	for i := 1; i < len(arg); i++ {
		o := option{name: arg[i : i+1], at: at}
		rest := arg[i+1:]
		switch {
		case strings.HasPrefix(rest, "="):
			o.begin = i + 2
		case rest != "" && !t.isSwitch(verb, o.name):
			o.begin = i + 1
		}
		list = append(list, o)
		if o.begin > 0 {
			break
		}
	}
	return list
}

// isSwitch reports whether a letter takes no value.
func (t Tool) isSwitch(verb, letter string) bool {
	return slices.Contains(t.plain, letter) || strings.Contains(t.letters[""]+t.letters[verb], letter)
}
