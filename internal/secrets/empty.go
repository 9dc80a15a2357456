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

// EmptyVariables is the variable in which a SOPS file lists those of its variables
// that are meant to be empty. SOPS encrypts nothing of an empty value, and its MAC
// does not cover it: without the list, who can write the file, and has no key, could
// blank a variable of another file by a line NAME=.
const EmptyVariables = "EMPTY_VARIABLES"

// An UndeclaredError says that a variable is empty, and nobody who has the key said so.
type UndeclaredError struct{ Path, Variable string }

func (e *UndeclaredError) Error() string {
	return fmt.Sprintf("%s has an empty %s that %s does not name", e.Path, e.Variable, EmptyVariables)
}

// ErrTwice says that a file has a name twice.
var ErrTwice = errors.New("has a name twice")

// refuseTwice finds names that a file has twice: programs differ in which of the
// values they take.
func refuseTwice(name string, data []byte, tree sops.Tree) error {
	var names []string
	for _, branch := range tree.Branches {
		for _, item := range branch {
			if key, ok := item.Key.(string); ok {
				names = append(names, key)
			}
		}
	}
	if path.Ext(name) == ".env" { // those of sops itself, too
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

// empty lists the variables of a tree that have no value, in its order. An encrypted
// tree has the same ones.
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

// refuseUndeclared compares a decrypted tree with its list.
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

// declare lists the empty variables of a plain tree in it.
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
