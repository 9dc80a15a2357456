package layer

import (
	"regexp"
	"strings"

	"slipway/internal/fault"
)

// tofu's messages about a provider. They are the only sign of these faults.
var (
	anotherBuild = regexp.MustCompile(`package for (\S+) (\S+) doesn't match any of the checksums previously recorded`)
	notInLock    = regexp.MustCompile(`lock file is read-only|locked provider \S+ \S+ does not match configured version constraint`)
)

// refuseProvider explains a failure of init that the lock file caused. said is tofu's output,
// wrapped to a terminal's width.
func (l *Layer) refuseProvider(said string, failure error) error {
	said = strings.Join(strings.FieldsFunc(said, func(c rune) bool { return strings.ContainsRune(" \t\n│╷╵", c) }), " ")
	if own, err := l.BuildsProviders(); err == nil && own && anotherBuild.MatchString(said) {
		return fault.Refuse("use a machine that reaches the registry, one without PINS in .env",
			"the lock file of %s has the checksums of the registry's providers, and this machine builds its own from source", l.Name)
	}
	command := "dagger call -y lock-providers --env=" + l.Env // also reports when the registry itself has different packages now
	if m := anotherBuild.FindStringSubmatch(said); m != nil {
		return fault.Refuse(command, "provider %s %s is a different build from the one in the lock file of %s: none of the checksums there match", m[1], m[2], l.Name)
	}
	if notInLock.MatchString(said) {
		return fault.Refuse(command, "the lock file of %s does not match the providers and versions that its code requires", l.Name)
	}
	return failure
}
