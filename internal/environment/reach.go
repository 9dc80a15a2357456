package environment

import (
	"io/fs"
	"net/url"
	"regexp"
	"strings"

	"slipway/internal/printable"
)

// hostPattern is a name or an address, of IPv6 too.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9:][A-Za-z0-9.:-]*$`)

// serialPattern is a number of hosts, or a percentage.
var serialPattern = regexp.MustCompile(`^[1-9][0-9]{0,3}%?$`)

func (s *source) checkDeploy(repository fs.FS, e *Environment) error {
	if e.Deploy == nil {
		return nil
	}
	const folder = "ansible/playbooks/"
	playbook := e.Deploy.Playbook
	if !fs.ValidPath(playbook) || playbook == "." {
		return s.Refuse("deploy.playbook", s.Edit("name a file below "+folder), "playbook %q is not a file below %s", playbook, folder)
	}
	mode, there, err := s.Find(repository, "deploy.playbook", folder+playbook)
	if err != nil {
		return err
	}
	if !there || !mode.IsRegular() {
		return s.Refuse("deploy.playbook", "$EDITOR "+printable.Word(folder+playbook), "there is no file %s", folder+playbook)
	}
	if at := "deploy.forks"; s.Has(at) && (e.Deploy.Forks < 1 || e.Deploy.Forks > 100) {
		return s.Refuse(at, s.Edit("write a number from 1 to 100"), "%s is %d", at, e.Deploy.Forks)
	}
	if at := "deploy.serial"; s.Has(at) && !serialPattern.MatchString(e.Deploy.Serial) {
		return s.Refuse(at, s.Edit("write a number or a percentage, such as \"1\" or \"25%%\""), "%s is %q, want a number or a percentage of hosts", at, e.Deploy.Serial)
	}
	return nil
}

func (s *source) checkSSH(_ fs.FS, e *Environment) error {
	if e.SSH == nil {
		return nil
	}
	if e.SSH.Proxy == "" && e.SSH.Jump == "" {
		return s.Refuse("ssh", s.Edit("write proxy: and its URL, or jump: and the name of a host, or delete the section"), "ssh has neither proxy nor jump")
	}
	if strings.ContainsAny(e.SSH.Jump, " \t\n@:/") {
		return s.Refuse("ssh.jump", s.Edit("write the name of a host, as `dagger call ssh` knows it"), "ssh.jump is %q, want the name of a host", e.SSH.Jump)
	}
	if e.SSH.Proxy == "" {
		return nil
	}
	const at = "ssh.proxy"
	if err := s.checkURL(at, e.SSH.Proxy); err != nil {
		return err
	}
	u, err := url.Parse(e.SSH.Proxy)
	if err != nil || u.Scheme != "http" || u.Port() == "" || !hostPattern.MatchString(u.Hostname()) || u.Path != "" { // a shell reads it
		return s.Refuse(at, s.Edit("write it as http://host:port"), "%s is not an http URL with a port", at)
	}
	return nil
}
