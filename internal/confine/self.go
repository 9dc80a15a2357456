package confine

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// inherited are the variables that Slipway itself reads.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "TERM", "TZ", "HOSTNAME", "GOMAXPROCS", "GOMEMLIMIT", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// Self protects this process's memory from other processes, even of the same user, and clears
// environment variables that it does not need: one may be a secret.
func Self() error {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !slices.Contains(inherited, name) {
			_ = os.Unsetenv(name)
		}
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
