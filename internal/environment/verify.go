package environment

import (
	"io/fs"
	"net"
	"net/url"
	"regexp"
	"strings"

	"slipway/internal/printable"
	"slipway/internal/secrets"
)

// local is the environment on the simulated cloud, which has no TLS.
const local = "local"

// variablePattern is the name of a variable in the credentials.
var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (s *source) checkVerify(repository fs.FS, e *Environment) error {
	v := e.Verify
	if v == nil {
		return nil
	}
	if v.HTTPS == nil && v.Flow == nil && v.Reboot == nil {
		return s.Refuse("verify", s.Edit("write https:, flow: or reboot: below it, or delete the section"), "verify names no check")
	}
	for _, rule := range []func(fs.FS, *Environment) error{s.checkRoots, s.checkHTTPS, s.checkFlow, s.checkReboot} {
		if err := rule(repository, e); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) checkRoots(repository fs.FS, e *Environment) error {
	const at = "verify.roots"
	v := e.Verify
	if v.Roots == "" {
		return nil
	}
	if strings.Contains(v.Roots, "://") {
		// Whoever can change the answer says which system is trusted with passwords.
		if e.Name == local {
			return s.checkURL(at, v.Roots)
		}
		return s.checkSecureURL(at, v.Roots)
	}
	if !fs.ValidPath(v.Roots) {
		return s.Refuse(at, s.Edit("name a file of the repository, or a URL"), "%s is %q, which is not a path in the repository", at, v.Roots)
	}
	mode, there, err := s.Find(repository, at, v.Roots)
	if err != nil {
		return err
	}
	if !there || !mode.IsRegular() {
		return s.Refuse(at, "$EDITOR "+printable.Word(v.Roots), "there is no file %s", v.Roots)
	}
	return nil
}

func (s *source) checkHTTPS(_ fs.FS, e *Environment) error {
	v := e.Verify
	if v.HTTPS == nil {
		return nil
	}
	if at := "verify.https.days"; s.Has(at) && v.HTTPS.Days < 1 {
		return s.Refuse(at, s.Edit("write 1, or more"), "%s is %d", at, v.HTTPS.Days)
	}
	return s.checkSecureURL("verify.https.url", v.HTTPS.URL)
}

// checkSecureURL refuses everything but an https URL.
func (s *source) checkSecureURL(at, text string) error {
	if err := s.checkURL(at, text); err != nil {
		return err
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" {
		return s.Refuse(at, s.Edit("write it as https://host/path"), "%s is not an https URL", at)
	}
	return nil
}

func (s *source) checkFlow(_ fs.FS, e *Environment) error {
	c := e.Verify.Flow
	if c == nil {
		return nil
	}
	const at = "verify.flow"
	if host, port, err := net.SplitHostPort(c.Broker); err != nil || host == "" || port == "" {
		return s.Refuse(at+".broker", s.Edit("write it as example.org:8883"), "%s.broker is %q, want a name and a port", at, c.Broker)
	}
	if strings.HasSuffix(c.API, "/") {
		return s.Refuse(at+".api", s.Edit("delete the final slash"), "%s.api ends with a slash", at)
	}
	if err := s.checkSecureURL(at+".api", c.API); err != nil {
		return err
	}
	if c.User == "" {
		return s.Refuse(at, s.Edit("write user: and the MQTT user of the devices"), "%s has no user", at)
	}
	if !variablePattern.MatchString(c.Credential) {
		return s.Refuse(at+".credential", s.Edit("name a variable of the credentials, such as ANSIBLE_VAR_broker_verify_password"), "%s.credential is not the name of a variable", at)
	}
	// It is sent to the broker.
	if !strings.HasPrefix(c.Credential, secrets.PlaybookPrefix) {
		return s.Refuse(at+".credential", s.Edit("name a variable of the playbook, such as ANSIBLE_VAR_broker_verify_password"), "%s.credential is %s, which is not for the hosts", at, c.Credential)
	}
	if s.Has(at+".positions") && (c.Positions < 1 || c.Positions > 10000) {
		return s.Refuse(at+".positions", s.Edit("write a number from 1 to 10000"), "%s.positions is %d", at, c.Positions)
	}
	return nil
}

func (s *source) checkReboot(_ fs.FS, e *Environment) error {
	const at = "verify.reboot"
	v := e.Verify
	switch {
	case v.Reboot == nil:
		return nil
	case v.Flow == nil:
		return s.Refuse(at, s.Edit("write flow: too: it says what is published meanwhile"), "%s needs flow", at)
	case v.Reboot.Host == "":
		return s.Refuse(at, s.Edit("write host: and its name, as `dagger call ssh` knows it"), "%s has no host", at)
	case s.Has(at+".seconds") && v.Reboot.Seconds < 1:
		return s.Refuse(at+".seconds", s.Edit("write 1, or more"), "%s.seconds is %d", at, v.Reboot.Seconds)
	}
	return nil
}
