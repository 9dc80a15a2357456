package clustertool

// Kubectl is that of Kubernetes 1.37.
var Kubectl = Tool{
	Name: "kubectl",
	values: []string{
		"as", "as-group", "as-uid", "as-user-extra", "cache-dir", "certificate-authority", "client-certificate", "client-key", "cluster",
		"context", "kubeconfig", "kuberc", "log-flush-frequency", "namespace", "n", "password", "profile", "profile-output", "proxy-url",
		"request-timeout", "server", "s", "tls-server-name", "token", "user", "username", "v", "vmodule",
	},
	plain:   []string{"disable-compression", "help", "h", "insecure-skip-tls-verify", "match-server-version", "warnings-as-errors"},
	letters: map[string]string{"": "ARiqtw", "logs": "fp"},
	reads: []string{
		"api-resources", "api-versions", "auth can-i", "auth whoami", "cluster-info", "completion", "config current-context",
		"config get-clusters", "config get-contexts", "config get-users", "config view", "describe", "diff", "events", "explain", "get",
		"help", "kustomize", "logs", "options", "rollout history", "rollout status", "top", "version", "wait",
	},
	selects: []string{
		"kubeconfig", "kuberc", "context", "cluster", "server", "s", "proxy-url", "token", "username", "password", "client-certificate",
		"client-key", "certificate-authority", "tls-server-name", "insecure-skip-tls-verify",
	},
	refused: []refusal{
		{pattern: "edit", why: noTerminal, hint: editHint},
		{pattern: "apply edit-last-applied", why: noTerminal, hint: editHint},
		{pattern: "attach", why: noTerminal, hint: terminalHint},
		{pattern: "port-forward", why: "nobody could reach the port", hint: terminalHint},
		{pattern: "proxy", why: "nobody could reach the port", hint: terminalHint},
		{pattern: "exec", with: interactive, why: noTerminal, hint: "dagger call cluster kubectl --env=ENV --args=exec,POD,--,COMMAND   # without -i and -t"},
		{pattern: "run", with: interactive, why: noTerminal, hint: terminalHint},
		{pattern: "debug", with: interactive, why: noTerminal, hint: terminalHint},
	},
}

// interactive are the flags with which a command reads what somebody types.
var interactive = []string{"i", "t", "stdin", "tty"}

const (
	terminalHint = "(umask 077; dagger call cluster kubeconfig --env=ENV plaintext >~/.kube/ENV)   # for kubectl in a terminal"
	editHint     = "dagger call cluster kubectl --env=ENV --args=apply,-f,FILE   # or patch"
)
