// Package servers contains the commands for the machines of an environment: status, start, stop and
// ssh.
package servers
