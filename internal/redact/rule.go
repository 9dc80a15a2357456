package redact

import (
	"net/netip"
	"regexp"
	"strings"
)

// The only place that decides what is secret; docs/adr/0009-what-is-secret.md explains why. A whole
// value that somebody marked as secret is secret, unless its kind is public. In a value that
// consists of others, such as a kubeconfig, a leaf is secret if its name says so or if it is not an
// ordinary word.

var (
	secretName = regexp.MustCompile(`(?i)pass(word|wd|phrase|code)?s?$|^pass|pwd|secret|token|private|credential|api.?key|access.?key|master.?key|(^|[^a-z])key$|key.?data|^auth$|authorization|signature|^sig$|cookie|session|salt|^pin$|otp|psk|connection.?string|dsn$`)
	openName   = regexp.MustCompile(`(?i)(^|[^a-z])(host|port|database|db|region|zone|endpoint|server|address|addr|ip|ipv4|ipv6|email|type|kind|scheme|protocol|sslmode|version|namespace|project|cluster|context|id|url|uri|path|name|algorithm|method|engine|plan|size|flavor|status|state|domain|tenant|login|description|label|network|subnet)s?$|users?$|user_?name$|host_?name$|db_?name$|apiVersion$|Host$|Name$`)
	// about matches the end of names for facts about a secret rather than the secret.
	about      = regexp.MustCompile(`(?i)(uri|url|name|type|path|host|port|length|version|expir(y|es|ation)|enabled|policy|file|algorithm)$`)
	publicName = regexp.MustCompile(`(?i)public|cert(ificate)?(_?pem|.?authority)?(.?data)?$|^ca(_pem|_cert|_certificate)?$|fingerprint`)

	word      = regexp.MustCompile(`^([A-Za-z]?[a-z]{1,11}|[A-Z]{2,12})$`)
	hostname  = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,24}\.?(:[0-9]{1,5})?$`)
	smallest  = regexp.MustCompile(`^[-+]?[0-9]{1,7}(\.[0-9]{1,3})?$`)
	openSSH   = regexp.MustCompile(`^(@\S+ )?(\S+ )?(ssh-(ed25519|rsa|dss)|ecdsa-sha2-nistp[0-9]+|sk-\S+@openssh\.com) AAAA[0-9A-Za-z+/=]+( .*)?$`)
	recipient = regexp.MustCompile(`^age1[0-9a-z]{58,}$`)
	pemBlock  = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]+)-----.*?-----END [A-Z0-9 ]+-----`)
)

// ordinary words reveal nothing, whatever their name is.
var ordinary = map[string]bool{"true": true, "false": true, "null": true, "none": true, "nil": true, "yes": true, "no": true, "on": true, "off": true, "undefined": true}

// Whole reports whether a value that somebody marked as secret really is secret. Nearly always it
// is. The user "backend" and the host of a database are not, whoever marks them.
func Whole(name, value string) bool {
	value = strings.TrimSpace(value)
	open := openName.MatchString(name) && usual(value)
	return !ordinary[strings.ToLower(value)] && !public(value) && !open
}

// Leaf reports whether a part of a secret value is secret on its own. name is the part's name, or
// empty; within means that SecretName is true for an enclosing name.
func Leaf(name string, within bool, value string) bool {
	value = strings.TrimSpace(value)
	switch {
	case len(value) < shortestPlain, ordinary[strings.ToLower(value)], public(value):
		return false
	case publicName.MatchString(name):
		return strings.Contains(value, "PRIVATE KEY")
	case secretName.MatchString(name) && !about.MatchString(name):
		return true
	case about.MatchString(name), openName.MatchString(name):
		return within && !usual(value)
	}
	return within || !usual(value)
}

// SecretName reports whether a name is used for secrets, such as passwords.
func SecretName(name string) bool {
	return secretName.MatchString(name) && !publicName.MatchString(name) && !about.MatchString(name)
}

// Key reports whether a key of a secret map is secret on its own, which it is if it looks random.
func Key(name string) bool {
	for _, part := range strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("-_./: ", c) }) {
		digits, letters := 0, 0
		for _, c := range part {
			switch {
			case '0' <= c && c <= '9':
				digits++
			case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
				letters++
			}
		}
		if len(part) >= shortest && digits >= 2 && letters >= 2 {
			return true
		}
	}
	return false
}

// usual reports whether a text is a short word, a small number, or a host's name or address.
// Masking it wherever it occurs would hide more than a secret.
func usual(value string) bool {
	if word.MatchString(value) || smallest.MatchString(value) || hostname.MatchString(value) {
		return true
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return true
	}
	if _, err := netip.ParseAddrPort(value); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(value)
	return err == nil
}

// public reports whether a value's kind is public: public keys, certificates, age recipients and
// known_hosts lines.
func public(value string) bool {
	switch {
	case strings.HasPrefix(value, "age1"):
		return recipient.MatchString(value)
	case strings.HasPrefix(value, "LS0tLS1CRUdJTi"): // -----BEGIN, in base64
		return public(strings.TrimSpace(decode64(value)))
	case strings.HasPrefix(value, "-----BEGIN "):
		rest := pemBlock.ReplaceAllStringFunc(value, func(block string) string {
			if publicBlock(block) {
				return ""
			}
			return block
		})
		return strings.TrimSpace(rest) == ""
	case !strings.Contains(value, " AAAA"):
		return false
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); line != "" && !openSSH.MatchString(line) {
			return false
		}
	}
	return true
}

func publicBlock(block string) bool {
	kind := pemBlock.FindStringSubmatch(block)[1]
	return strings.HasSuffix(kind, "PUBLIC KEY") || strings.Contains(kind, "CERTIFICATE") || kind == "X509 CRL" || kind == "DH PARAMETERS"
}
