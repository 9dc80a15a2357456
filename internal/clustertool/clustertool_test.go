package clustertool

import (
	"slices"
	"strings"
	"testing"

	"slipway/internal/must"
)

// parse judges a call, written as in a shell without quotes.
func parse(t Tool, call string) (Call, error) { return t.Parse("test", strings.Fields(call)) }

// Each command is known by its name and its aliases, behind flags of every command as well. A command that is not known
// to read changes something.
func TestReads(t *testing.T) {
	for _, c := range []struct {
		tool           Tool
		reads, changes string // calls, one per line, and the command behind a colon if it is not the first word
	}{
		{Kubectl, `
			get pods -A
			get -A pods
			get --raw=/healthz
			-n kube-system get pods: get
			-nkube-system get pods: get
			-n=kube-system get pods: get
			--namespace kube-system get pods: get
			--namespace=kube-system -v 6 --as=me get pods: get
			describe node cp-1
			logs -f x
			top nodes
			version
			api-resources
			api-versions
			explain pods
			events
			cluster-info dump
			diff -f x.yaml
			auth can-i delete pods: auth can-i
			auth whoami: auth whoami
			config view --raw: config view
			-n x config -n y view: config view
			wait --for=delete pod/x
			rollout status deploy/x: rollout status
			rollout -n x history deploy/x: rollout history
			help delete
			--help: help
			get pods -- delete
		`, `
			delete pod x
			-n get delete pods: delete
			-n kube-system delete pod get: delete
			-v=6 apply -f x.yaml: apply
			apply -f x.yaml
			create token x
			exec x -- get pods
			drain cp-1
			auth reconcile -f x.yaml: auth reconcile
			auth
			config set-context x: config set-context
			rollout restart deploy/x: rollout restart
			rollout
			rollout -- status x
			rollout --recursive status deploy/x: rollout
			neat get
			getx pods
			scale --replicas 0 deploy/x
		`},
		{Talosctl, `
			version
			-n 10.0.0.1 version: version
			--nodes 10.0.0.1 version: version
			get members
			g members
			service
			service -n 10.0.0.1
			service etcd
			service etcd -n 10.0.0.1
			service etcd status
			services etcd status -n 10.0.0.1
			logs etcd
			dmesg -f
			list /
			ls /
			read /etc/hosts
			cat /etc/hosts
			memory
			m
			free
			stats
			processes
			p
			ps
			containers -k
			c
			health
			health --server=false
			mounts
			mount
			usage
			du
			netstat -an
			ss
			events
			time
			etcd members: etcd members
			etcd status: etcd status
			etcd alarm list: etcd alarm
			image list: image list
			images ls: images ls
			inspect dependencies
			disks
			cgroups
			cg
			config info: config info
		`, `
			-n 10.0.0.1 reboot: reboot
			reboot version
			reset
			shutdown
			upgrade
			upgrade-k8s --dry-run
			rotate-ca
			service etcd restart
			service etcd stop -n 10.0.0.1
			service -n 10.0.0.1 etcd start
			service -i etcd restart
			service etcd -i restart
			service etcd -- restart
			service -- etcd restart
			services etcd restart
			etcd leave: etcd leave
			etcd remove-member 1: etcd remove-member
			etcd alarm disarm: etcd alarm
			etcd snapshot db: etcd snapshot
			etcd
			image pull x: image pull
			image remove x: image remove
			health --run-e2e
			health --run-e2e=true
			meta write 1 x
			wipe disk sda
			restart etcd
			plugin
		`},
		{Helm, `
			list -A
			ls
			-n x list: list
			--debug list: list
			get values x
			status x
			history x
			hist x
			template x
			show chart x
			inspect chart x
			search hub x
			version
			lint x
			diff upgrade x
			env
		`, `
			install x y
			upgrade --install x y
			uninstall x
			delete x
			rollback x
			test x
			repo add x y
			plugin install x
			--namespace list uninstall x: uninstall
		`},
	} {
		for calls, reads := range map[string]bool{c.reads: true, c.changes: false} {
			for line := range strings.Lines(strings.TrimSpace(calls)) {
				text, verb, named := strings.Cut(strings.TrimSpace(line), ": ")
				if !named {
					verb = strings.Fields(text)[0]
				}
				got, err := parse(c.tool, text)
				if err != nil || got.Reads != reads || got.Verb != verb || got.String() != c.tool.Name+" "+verb || !slices.Equal(got.Args, strings.Fields(text)) {
					t.Errorf("%s %s: reads %v, is %q: %v", c.tool.Name, text, got.Reads, got.Verb, err)
				}
			}
		}
	}
}

// In every spelling, a flag is refused with which the call would work on another cluster. What only looks like one is
// let through: a letter in the value of another flag, and the arguments of another program.
func TestSelects(t *testing.T) {
	const why = " selects another cluster or another login than those of environment test"
	for call, flag := range map[string]string{
		"kubectl get pods --kubeconfig=x":                  "--kubeconfig",
		"kubectl get pods --kubeconfig x":                  "--kubeconfig",
		"kubectl --context x get pods":                     "--context",
		"kubectl get pods --cluster=x":                     "--cluster",
		"kubectl get pods --server x":                      "--server",
		"kubectl -s https://x get pods":                    "-s",
		"kubectl -shttps://x get pods":                     "-s",
		"kubectl -s=https://x get pods":                    "-s",
		"kubectl get pods -As https://x":                   "-s",
		"kubectl logs -fs https://x y":                     "-s",
		"kubectl get pods -hs https://x":                   "-s",
		"kubectl get pods -A --context x":                  "--context",
		"kubectl get pods --namespace=x --context=y":       "--context",
		"kubectl get pods -nx --context=y":                 "--context",
		"kubectl get pods --token x":                       "--token",
		"kubectl get pods --proxy-url=http://x":            "--proxy-url",
		"kubectl get pods --tls_server_name=x":             "--tls_server_name",
		"kubectl get pods --insecure-skip-tls-verify":      "--insecure-skip-tls-verify",
		"kubectl get pods --insecure-skip-tls-verify=true": "--insecure-skip-tls-verify",
		"kubectl get pods --client-certificate=x":          "--client-certificate",
		"kubectl get pods --kuberc=x":                      "--kuberc",
		"talosctl version --talosconfig=x":                 "--talosconfig",
		"talosctl --context x version":                     "--context",
		"talosctl version --endpoints x":                   "--endpoints",
		"talosctl -e x version":                            "-e",
		"talosctl version -ex":                             "-e",
		"talosctl version -e=x":                            "-e",
		"talosctl logs -fe x etcd":                         "-e",
		"talosctl netstat -kc x":                           "-c",
		"talosctl version -c x":                            "-c",
		"talosctl version --cluster x":                     "--cluster",
		"helm list --kubeconfig=x":                         "--kubeconfig",
		"helm --kube-context x list":                       "--kube-context",
		"helm list --kube-apiserver x":                     "--kube-apiserver",
		"helm list --kube-token=x":                         "--kube-token",
		"helm list --kube-insecure-skip-tls-verify":        "--kube-insecure-skip-tls-verify",

		"kubectl get pods -ojson":                           "",
		"kubectl get pods -lapp=sets":                       "",
		"kubectl get pods -o jsonpath={.items}":             "",
		"kubectl apply -fservice.yaml":                      "",
		"kubectl create rolebinding x --user=y":             "",
		"kubectl exec x -- tool --server=y -s z":            "",
		"kubectl get pods -n --server":                      "", // the name of a namespace, which the API server refuses
		"kubectl logs x --insecure-skip-tls-verify-backend": "",
		"talosctl pcap -ieth0":                              "",
		"talosctl upgrade -ighcr.io/x":                      "",
		"talosctl list -td /":                               "",
		"helm template x -s templates/service.yaml":         "",
		"helm upgrade x y --set context=z,kubeconfig=1":     "",
	} {
		name, args, _ := strings.Cut(call, " ")
		_, err := parse(map[string]Tool{"kubectl": Kubectl, "talosctl": Talosctl, "helm": Helm}[name], args)
		if flag == "" {
			if err != nil {
				t.Errorf("%s: %v", call, err)
			}
			continue
		}
		must.Refuse(t, err, flag+why, "dagger call cluster "+name+" --env=test --args=COMMAND   # without it")
	}
}

// Commands are refused that need a terminal, or for which there is one of ours, which the hint names.
func TestRefuses(t *testing.T) {
	for call, c := range map[string]struct{ message, hint string }{
		"kubectl":                              {"kubectl was given no arguments", "dagger call cluster kubectl --env=test --args=version"},
		"kubectl --replicas 3 scale deploy/x":  {"--replicas is before the command, where only flags of every command may be", "dagger call cluster kubectl --env=test --args=COMMAND,--replicas"},
		"kubectl -- get pods":                  {"-- is before the command", "dagger call cluster kubectl --env=test --args=COMMAND,--"},
		"kubectl edit deploy/x":                {"kubectl edit is refused: it needs a terminal, and a call has none", "--args=apply,-f,FILE"},
		"kubectl apply edit-last-applied x":    {"kubectl apply is refused: it needs a terminal", "--args=apply,-f,FILE"},
		"kubectl attach x":                     {"kubectl attach is refused: it needs a terminal", "dagger call cluster kubeconfig --env=test plaintext"},
		"kubectl -n y port-forward x 80":       {"kubectl port-forward is refused: nobody could reach the port", "dagger call cluster kubeconfig"},
		"kubectl proxy":                        {"kubectl proxy is refused: nobody could reach the port", "dagger call cluster kubeconfig"},
		"kubectl exec -it x -- sh":             {"kubectl exec is refused: it needs a terminal", "--args=exec,POD,--,COMMAND"},
		"kubectl exec x -ti -- sh":             {"kubectl exec is refused: it needs a terminal", "--args=exec,POD,--,COMMAND"},
		"kubectl exec x --stdin --tty -- sh":   {"kubectl exec is refused: it needs a terminal", "--args=exec,POD,--,COMMAND"},
		"kubectl run x --image=y --stdin=true": {"kubectl run is refused: it needs a terminal", "dagger call cluster kubeconfig"},
		"kubectl debug node/x -qit":            {"kubectl debug is refused: it needs a terminal", "dagger call cluster kubeconfig"},
		"talosctl bootstrap":                   {"talosctl bootstrap is refused: Slipway has a command for it", "dagger call cluster bootstrap --env=test"},
		"talosctl -n x bootstrap":              {"talosctl bootstrap is refused: Slipway has a command for it", "dagger call cluster bootstrap --env=test"},
		"talosctl apply-config -f x":           {"talosctl apply-config is refused", "$EDITOR environments/test/cluster.yaml && dagger call cluster plan --env=test && dagger call cluster apply --env=test"},
		"talosctl apply -f x --dry-run":        {"talosctl apply is refused", "dagger call cluster plan --env=test"},
		"talosctl patch mc -p x":               {"talosctl patch is refused", "dagger call cluster apply --env=test"},
		"talosctl edit machineconfig":          {"talosctl edit is refused", "dagger call cluster apply --env=test"},
		"talosctl gen secrets":                 {"talosctl gen is refused", "dagger call -y cluster secrets --env=test"},
		"talosctl kubeconfig -":                {"talosctl kubeconfig is refused", "dagger call cluster kubeconfig --env=test plaintext"},
		"talosctl config new x":                {"talosctl config new is refused", "dagger call cluster talosconfig --env=test plaintext"},
		"talosctl dashboard":                   {"talosctl dashboard is refused: it needs a terminal", "dagger call cluster talosconfig --env=test plaintext"},
		"talosctl debug x":                     {"talosctl debug is refused: it needs a terminal", "dagger call cluster talosconfig --env=test plaintext"},
		"helm":                                 {"helm was given no arguments", "dagger call cluster helm --env=test --args=version"},
	} {
		name, args, _ := strings.Cut(call, " ")
		_, err := parse(map[string]Tool{"kubectl": Kubectl, "talosctl": Talosctl, "helm": Helm}[name], args)
		must.Refuse(t, err, c.message, c.hint)
	}
	for _, call := range []string{"exec x -- sh -it", "exec x -c y -- ls", "delete pod x -i", "run x --image=y", "debug node/x --image=y"} {
		if _, err := parse(Kubectl, call); err != nil {
			t.Errorf("kubectl %s: %v", call, err)
		}
	}
}

// A call is named in hints without what may be secret.
func TestAgain(t *testing.T) {
	c, err := parse(Kubectl, "rollout restart deploy/canary")
	must.Do(t, err)
	if got := c.Again(); got != "dagger call cluster kubectl --env=test --args='rollout,restart,…'" {
		t.Errorf("got %s", got)
	}
}
