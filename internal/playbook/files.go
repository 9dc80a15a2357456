package playbook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"slipway/internal/ansible"
	"slipway/internal/confine"
	"slipway/internal/inventory"
	"slipway/internal/secrets"
	"slipway/internal/workspace"
)

// Where the files for Ansible are, below the work folder. The inventory is in the repository's copy,
// because Ansible looks for group_vars and host_vars beside it.
const (
	folder         = "ansible"
	inventoryFile  = "repository/ansible/slipway-inventory.yml"
	variablesFile  = folder + "/variables.yml"
	knownHostsFile = folder + "/known_hosts"
	sshConfigFile  = folder + "/ssh_config"
	agentSocket    = folder + "/agent"
	socketFolder   = "ssh" // short, because a path of a socket has at most 107 characters
)

// write writes the inventory, the variables and the configuration of ssh to the work folder. It
// returns the digest of the inventory, which has no secret.
func (s *Site) write() (digest string, err error) {
	work := workspace.Folder(s.Run)
	if err := work.Make(folder, socketFolder); err != nil {
		return "", workspace.Full(s.Run, err)
	}
	hostsText, err := inventory.Write(s.Hosts)
	if err != nil {
		return "", err
	}
	own, err := s.own()
	if err != nil {
		return "", err
	}
	variables, err := inventory.WriteVariables(inventory.Merge(inventory.Merge(s.Variables, s.Secrets), own))
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	config := inventory.SSHConfig{KnownHosts: s.Path(knownHostsFile), Agent: s.Path(agentSocket), Self: self}
	for name, data := range map[string][]byte{
		inventoryFile: hostsText, variablesFile: variables, knownHostsFile: inventory.KnownHosts(s.Hosts), sshConfigFile: config.Write(s.Hosts),
	} {
		if err := work.Write(name, data); err != nil {
			return "", workspace.Full(s.Run, err)
		}
	}
	sum := sha256.Sum256(hostsText)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// serveKey offers the key to the tools through an SSH agent, so that it is in no file. The returned
// function ends it.
func (s *Site) serveKey() (stop func(), err error) {
	private, err := ssh.ParseRawPrivateKey([]byte(s.Credentials[secrets.OperatorKey]))
	if err != nil {
		return nil, errors.New("the SSH key cannot be used by an agent")
	}
	keyring := agent.NewKeyring()
	if err := keyring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		return nil, fmt.Errorf("add the SSH key to the agent: %w", err)
	}
	// Nobody removes it, or adds another one.
	if err := confine.Give(s.Path(folder)); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", s.Path(agentSocket))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(s.Path(agentSocket), 0o600), confine.Give(s.Path(agentSocket))); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_ = agent.ServeAgent(signsOnly{keyring}, connection) // ends with the connection
			}()
		}
	}()
	return func() { _ = listener.Close() }, nil
}

// signsOnly is an agent whose keys cannot be changed.
type signsOnly struct{ agent.Agent }

var errSignsOnly = errors.New("this agent only signs")

func (signsOnly) Add(agent.AddedKey) error   { return errSignsOnly }
func (signsOnly) Remove(ssh.PublicKey) error { return errSignsOnly }
func (signsOnly) RemoveAll() error           { return errSignsOnly }
func (signsOnly) Lock([]byte) error          { return errSignsOnly }
func (signsOnly) Unlock([]byte) error        { return errSignsOnly }

// runner is Ansible in the folder ansible/ of the repository's copy.
func (s *Site) runner(printed *output) ansible.Runner {
	return ansible.Runner{Dir: s.Path("repository", "ansible"), Stderr: printed, Env: ansible.Settings{
		Path: os.Getenv("PATH"), Home: s.Path("home"), Temp: s.Path("tmp"), Sockets: s.Path(socketFolder), SSHConfig: s.Path(sshConfigFile),
	}.Env()}
}

// disconnect ends the connections that ssh keeps. They would end by themselves after a minute.
func (s *Site) disconnect(ctx context.Context) {
	sockets, _ := filepath.Glob(s.Path(socketFolder, "*"))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, socket := range sockets {
		cmd := confine.Command(ctx, "ssh", "-F", "none", "-o", "ControlPath="+socket, "-O", "exit", "none")
		_ = confine.Run(cmd) // the connection may have ended already
	}
}
