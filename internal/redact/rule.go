package redact

import (
	"net/netip"
	"regexp"
	"strings"
)

// What is secret is decided here, and nowhere else: docs/adr/0009-what-is-secret.md
// says why. A whole value that somebody called secret is one, unless it is public by
// its kind. Of a value that is made of others, such as a kubeconfig, a leaf is
// secret by its name, or by not being ordinary.

var (
	secretName = regexp.MustCompile(`(?i)pass(word|wd|phrase|code)?s?$|^pass|pwd|secret|token|private|credential|api.?key|access.?key|master.?key|(^|[^a-z])key$|key.?data|^auth$|authorization|signature|^sig$|cookie|session|salt|^pin$|otp|psk|connection.?string|dsn$`)
	openName   = regexp.MustCompile(`(?i)(^|[^a-z])(host|port|database|db|region|zone|endpoint|server|address|addr|ip|ipv4|ipv6|email|type|kind|scheme|protocol|sslmode|version|namespace|project|cluster|context|id|url|uri|path|name|algorithm|method|engine|plan|size|flavor|status|state|domain|tenant|login|description|label|network|subnet)s?$|users?$|user_?name$|host_?name$|db_?name$|apiVersion$|Host$|Name$`)
	// about is what ends a name of something that is told about a secret.
	about      = regexp.MustCompile(`(?i)(uri|url|name|type|path|host|port|length|version|expir(y|es|ation)|enabled|policy|file|algorithm)$`)
	publicName = regexp.MustCompile(`(?i)public|cert(ificate)?(_?pem|.?authority)?(.?data)?$|^ca(_pem|_cert|_certificate)?$|fingerprint`)

	word      = regexp.MustCompile(`^([A-Za-z]?[a-z]{1,11}|[A-Z]{2,12})$`)
	hostname  = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,24}\.?(:[0-9]{1,5})?$`)
	smallest  = regexp.MustCompile(`^[-+]?[0-9]{1,7}(\.[0-9]{1,3})?$`)
	openSSH   = regexp.MustCompile(`^(@\S+ )?(\S+ )?(ssh-(ed25519|rsa|dss)|ecdsa-sha2-nistp[0-9]+|sk-\S+@openssh\.com) AAAA[0-9A-Za-z+/=]+( .*)?$`)
	recipient = regexp.MustCompile(`^age1[0-9a-z]{58,}$`)
	pemBlock  = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]+)-----.*?-----END [A-Z0-9 ]+-----`)
)

// ordinary words say nothing, whatever they are called.
var ordinary = map[string]bool{"true": true, "false": true, "null": true, "none": true, "nil": true, "yes": true, "no": true, "on": true, "off": true, "undefined": true}

// Whole says whether a value that somebody called secret is one: nearly always. The
// user "backend" and the host of a database are not, whoever marks them.
func Whole(name, value string) bool {
	value = strings.TrimSpace(value)
	open := openName.MatchString(name) && usual(value)
	return !ordinary[strings.ToLower(value)] && !public(value) && !open
}

// Leaf says whether a text that is part of a secret value is secret on its own. The
// name is what it is called there, or empty; within says that SecretName holds of
// something around it.
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

// SecretName says that a name is one for secrets, such as passwords.
func SecretName(name string) bool {
	return secretName.MatchString(name) && !publicName.MatchString(name) && !about.MatchString(name)
}

// Key says whether the key of a map, all of which is secret, is secret on its own:
// it is if it looks made up.
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

// usual says that a text is a short word, a small number, or the name or
// number of a host: to mask it wherever it comes up would hide more than a secret.
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

// public says that a value is public by its kind: public keys, certificates, age
// recipients, and lines of known_hosts.
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
