package clustertool

// Helm is that of version 4. It reaches the cluster as kubectl does.
var Helm = Tool{
	Name: "helm",
	values: []string{
		"burst-limit", "color", "colour", "content-cache", "kube-apiserver", "kube-as-group", "kube-as-user", "kube-ca-file", "kube-context",
		"kube-tls-server-name", "kube-token", "kubeconfig", "namespace", "n", "qps", "registry-config", "repository-cache",
		"repository-config",
	},
	plain: []string{"debug", "help", "h", "kube-insecure-skip-tls-verify"},
	reads: []string{
		"completion", "diff", "env", "get", "help", "hist", "history", "inspect", "lint", "list", "ls", "search", "show", "status",
		"template", "verify", "version",
	},
	selects: []string{
		"kubeconfig", "kube-context", "kube-apiserver", "kube-token", "kube-ca-file", "kube-tls-server-name", "kube-insecure-skip-tls-verify",
	},
}
