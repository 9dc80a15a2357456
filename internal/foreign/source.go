package foreign

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	// https://opentofu.org/docs/language/modules/sources/#module-registry
	registryPattern = regexp.MustCompile(`^([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)+(:[0-9]+)?/)?[0-9A-Za-z_-]+/[0-9A-Za-z_-]+/[0-9a-z]+(//.*)?$`)
	gitPattern      = regexp.MustCompile(`^(git::|git@|github\.com/|gitlab\.com/|bitbucket\.org/)`)
	versionPattern  = regexp.MustCompile(`^=? *[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)
	commitPattern   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	digestPattern   = regexp.MustCompile(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)
)

// unpinned returns what a module source lacks to be reproducible, or "".
func unpinned(source, version string) string {
	if registryPattern.MatchString(source) {
		if versionPattern.MatchString(version) {
			return ""
		}
		return "without an exact version"
	}
	_, query, _ := strings.Cut(source, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		values = nil
	}
	has := func(key string, pattern *regexp.Regexp) bool {
		return len(values[key]) == 1 && pattern.MatchString(values.Get(key))
	}
	switch {
	case gitPattern.MatchString(source):
		if has("ref", commitPattern) {
			return ""
		}
		return "without the full hash of a commit (?ref=…)"
	case strings.HasPrefix(source, "oci://"):
		if has("digest", digestPattern) {
			return ""
		}
		return "without a digest (?digest=sha256:…)"
	}
	if has("checksum", digestPattern) {
		return ""
	}
	return "without a checksum (?checksum=sha256:…)"
}
