package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/getsops/sops/v3"
)

// EmptyVariables is the variable that lists which variables of a SOPS file are empty on purpose.
// SOPS does not encrypt an empty value, and its MAC does not cover it. Without the list, somebody
// who can write the file but has no key could blank a variable of another file with a line NAME=.
const EmptyVariables = "EMPTY_VARIABLES"

// An UndeclaredError means that a variable is empty and no key holder declared it so.
type UndeclaredError struct{ Path, Variable string }

func (e *UndeclaredError) Error() string {
	return fmt.Sprintf("%s has an empty %s that %s does not list", e.Path, e.Variable, EmptyVariables)
}

// ErrTwice means that a file defines a name twice.
var ErrTwice = errors.New("defines a name twice")

// refuseTwice looks for duplicate names in a file: programs differ in which of the values they use.
func refuseTwice(name string, data []byte, tree sops.Tree) error {
	var names []string
	for _, branch := range tree.Branches {
		for _, item := range branch {
			if key, ok := item.Key.(string); ok {
				names = append(names, key)
			}
		}
	}
	if path.Ext(name) == ".env" { // includes sops's own names
		names = nil
		for line := range bytes.Lines(data) {
			if key, _, ok := strings.Cut(string(line), "="); ok && !strings.HasPrefix(key, "#") {
				names = append(names, key)
			}
		}
	}
	slices.Sort(names)
	for i := range names {
		if i > 0 && names[i] == names[i-1] {
			return fmt.Errorf("%s %w: %s", name, ErrTwice, names[i])
		}
	}
	return nil
}

// empty lists the variables of a tree that have no value, in file order. An encrypted tree yields
// the same list.
func empty(tree sops.Tree) (names []string) {
	for _, branch := range tree.Branches {
		for _, item := range branch {
			if key, _ := item.Key.(string); item.Value == "" { // a comment has none
				names = append(names, key)
			}
		}
	}
	return names
}

// refuseUndeclared checks the empty variables of a decrypted tree against its list.
func refuseUndeclared(name string, tree sops.Tree) error {
	for _, variable := range undeclaredIn(tree) {
		return &UndeclaredError{name, variable}
	}
	return nil
}

func undeclaredIn(tree sops.Tree) []string {
	declared := strings.Split(value(tree, EmptyVariables), ",")
	return slices.DeleteFunc(empty(tree), func(variable string) bool { return slices.Contains(declared, variable) })
}

func value(tree sops.Tree, variable string) string {
	for _, branch := range tree.Branches {
		for _, item := range branch {
			if item.Key == variable {
				text, _ := item.Value.(string)
				return text
			}
		}
	}
	return ""
}

// declare records the empty variables of a plain tree in its list.
func declare(tree *sops.Tree) {
	list := strings.Join(empty(*tree), ",")
	branch := tree.Branches[0]
	at := slices.IndexFunc(branch, func(item sops.TreeItem) bool { return item.Key == EmptyVariables })
	switch {
	case at >= 0 && list == "":
		branch = slices.Delete(branch, at, at+1)
	case at >= 0:
		branch[at].Value = list
	case list != "":
		branch = append(branch, sops.TreeItem{Key: EmptyVariables, Value: list})
	}
	tree.Branches[0] = branch
}
