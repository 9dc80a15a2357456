//go:build blackbox

package main

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit/openssh"
)

// Each key opens one environment, and one for plans changes neither the infrastructure nor a host.
// docs/github.md shows the table that this makes.
func TestBlackBoxKeys(t *testing.T) {
	k := newKeys(t, "test", "prod")
	table := "| key | reads | plans | applies | deploys | logs in to the hosts of |\n|---|---|---|---|---|---|\n"
	for _, name := range []string{"none, as in a fork", "`plan-test`", "`test`", "`plan-prod`", "`prod`", "a member's"} {
		opened := k.opened(name)
		var reads, plans, applies, deploys, logins []string
		for _, env := range k.environments {
			for _, file := range []string{env + "-plan", env} {
				reads = addIf(reads, file, opened[file] != nil)
			}
			plans = addIf(plans, env, k.permits(name, env, "plan"))
			applies = addIf(applies, env, k.permits(name, env, "apply"))
			deploys = addIf(deploys, env, k.permits(name, env, "deploy"))
			logins = addIf(logins, env, k.logsIn(opened, env))
		}
		table += "| " + name
		for _, list := range [][]string{reads, plans, applies, deploys, logins} {
			table += " | " + cmp.Or(strings.Join(list, ", "), "–")
		}
		table += " |\n"
	}
	t.Log("\n" + table)
	if !strings.Contains(readFile(t, "../../docs/github.md"), table) {
		t.Error("docs/github.md has another table")
	}
}

func addIf(list []string, name string, really bool) []string {
	if really {
		return append(list, "`"+name+"`")
	}
	return list
}

// keysSite is a repository with environments whose credentials are split as the templates do it.
type keysSite struct {
	*site
	environments []string
	servers      map[string]*sshHost
	identities   map[string]*age.X25519Identity
}

func newKeys(t *testing.T, environments ...string) *keysSite {
	t.Helper()
	k := &keysSite{site: newSite(t), environments: environments, servers: map[string]*sshHost{}}
	k.identities = map[string]*age.X25519Identity{"a member's": k.key}
	for i, env := range environments {
		for _, name := range []string{"`plan-" + env + "`", "`" + env + "`"} {
			key, err := age.GenerateX25519Identity()
			if err != nil {
				t.Fatal(err)
			}
			k.identities[name] = key
		}
		private, public := openssh.NewKey(t)
		k.servers[env] = newHost(t, env, fmt.Sprintf("127.0.1.%d", i+2), public)
		k.hosts = map[string]*sshHost{env: k.servers[env]}
		folder := "environments/" + env + "/"
		k.write(folder+"net/main.tf", "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"net\" {}\n")
		k.write(folder+"hosts/main.tf", k.code(k.inventory(), ""))
		k.write(folder+"environment.yaml", fmt.Sprintf(`credentials: [%[1]s-plan, %[1]s]
plan: {credentials: [%[1]s-plan]}
layers: [{path: net}, {path: hosts}]
deploy: {playbook: site.yml}
state:
  s3: {bucket: slipway-%[1]s, region: us-east-1, endpoint: %[2]q}
`, env, k.store.URL))
		all := maps.Clone(k.secret)
		delete(all, secrets.OperatorKey)
		k.sealTo(env+"-plan", all, k.key, k.identities["`plan-"+env+"`"], k.identities["`"+env+"`"])
		own := map[string]string{"ANSIBLE_VAR_password": "password-of-" + env}
		readers := []*age.X25519Identity{k.key, k.identities["`"+env+"`"]}
		k.sealTo(env, own, readers...)
		in := func(o *call) { o.Env = env }
		k.run("bootstrap", in).must(t, run.Done)
		k.run("apply", in).must(t, run.Done) // without the key: these hosts have no cloud-init to wait for
		own[secrets.OperatorKey] = private
		k.sealTo(env, own, readers...)
	}
	return k
}

func (k *keysSite) sealTo(name string, values map[string]string, readers ...*age.X25519Identity) {
	k.t.Helper()
	var recipients []string
	for _, reader := range readers {
		recipients = append(recipients, reader.Recipient().String())
	}
	file := "credentials/" + name + ".enc.env"
	data, err := secrets.Seal(file, values, recipients)
	if err != nil {
		k.t.Fatal(err)
	}
	k.write(file, string(data))
}

// opened decrypts all credentials that the key reads, as sops does it.
func (k *keysSite) opened(key string) map[string]map[string]string {
	k.t.Helper()
	all := map[string]map[string]string{}
	if k.identities[key] == nil {
		return all
	}
	identity, err := secrets.ParseIdentity(k.identities[key].String())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, env := range k.environments {
		for _, name := range []string{env + "-plan", env} {
			file := "credentials/" + name + ".enc.env"
			if values, err := secrets.Decrypt(file, []byte(readFile(k.t, filepath.Join(k.dir, file))), identity); err == nil {
				all[name] = values
			}
		}
	}
	return all
}

// permits runs a stage with a key, and reports whether it did its work. It may only be refused for that key.
func (k *keysSite) permits(key, env, stage string) bool {
	k.t.Helper()
	o := k.call(stage)
	o.Env = env
	o.IdentityFile = filepath.Join(k.t.TempDir(), "keys.txt")
	if identity := k.identities[key]; identity != nil {
		k.file(o.IdentityFile, identity.String()+"\n")
	}
	if stage == "apply" {
		o.OnlyLayer = "net" // the other has hosts to wait for
	}
	e := k.runInTrixie(o)
	if e.code == run.Done {
		return true
	}
	if e.code != run.BadInput || !strings.Contains(e.result.Error, "is encrypted to") && !strings.Contains(e.result.Error, "no age identity was given") {
		k.t.Errorf("%s of %s by %s: code %d\n%s", stage, env, key, e.code, e.stdout)
	}
	return false
}

// logsIn reports whether a private key in the credentials opens the environment's host.
func (k *keysSite) logsIn(opened map[string]map[string]string, env string) bool {
	k.t.Helper()
	host := k.servers[env]
	for _, values := range opened {
		for _, value := range values {
			key, err := ssh.ParsePrivateKey([]byte(value))
			if err != nil {
				continue
			}
			client, err := ssh.Dial("tcp", net.JoinHostPort(host.Address, strconv.Itoa(host.Port)), &ssh.ClientConfig{
				User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
			})
			if err == nil {
				_ = client.Close()
				return true
			}
		}
	}
	return false
}
