package clustertool

// Talosctl is that of Talos 1.14.
var Talosctl = Tool{
	Name: "talosctl",
	values: []string{
		"cluster", "c", "context", "endpoints", "e", "nodes", "n", "siderov1-keys-dir", "talosconfig",
	},
	plain: []string{"help", "h"},
	letters: map[string]string{
		"dmesg": "fi", "get": "iw", "g": "iw", "list": "Hlr", "ls": "Hlr", "logs": "fi", "memory": "iv", "m": "iv", "free": "iv",
		"meta": "i", "netstat": "46akloptuUvwx", "ss": "46akloptuUvwx", "service": "i", "services": "i", "support": "iv", "usage": "aH",
		"du": "aH", "version": "i",
	},
	nodes: []string{"nodes", "n"},
	reads: []string{
		"c", "cat", "cg", "cgroups", "completion", "config contexts", "config info", "containers", "disks", "dmesg", "du", "etcd alarm list",
		"etcd members", "etcd status", "events", "free", "g", "get", "health", "help", "image default", "image k8s-bundle", "image l",
		"image list", "image ls", "image talos-bundle", "images default", "images k8s-bundle", "images l", "images list", "images ls",
		"images talos-bundle", "inspect", "list", "logs", "ls", "m", "memory", "mount", "mounts", "netstat", "p", "processes", "ps", "read",
		"service $", "service * $", "service * status", "services $", "services * $", "services * status", "ss", "stats", "time", "usage",
		"version",
	},
	unless:  []string{"run-e2e"}, // of health
	selects: []string{"talosconfig", "context", "cluster", "c", "endpoints", "e", "siderov1-keys-dir"},
	refused: []refusal{
		// These have commands of their own, which keep the plan, the record of the last apply, and the quorum.
		{pattern: "bootstrap", why: ownCommand, hint: "dagger call cluster bootstrap --env=ENV"},
		{pattern: "apply-config", why: ownCommand, hint: applyHint},
		{pattern: "apply", why: ownCommand, hint: applyHint},
		{pattern: "patch", why: ownCommand, hint: applyHint},
		{pattern: "edit", why: ownCommand, hint: applyHint},
		// These make keys that nobody would mask.
		{pattern: "gen", why: ownCommand, hint: "dagger call -y cluster secrets --env=ENV"},
		{pattern: "kubeconfig", why: ownCommand, hint: "(umask 077; dagger call cluster kubeconfig --env=ENV plaintext >~/.kube/ENV)"},
		{pattern: "config new", why: ownCommand, hint: talosconfigHint},

		{pattern: "dashboard", why: noTerminal, hint: talosconfigHint},
		{pattern: "debug", why: noTerminal, hint: talosconfigHint},
	},
}

const (
	ownCommand      = "Slipway has a command for it"
	applyHint       = "$EDITOR environments/ENV/cluster.yaml && dagger call cluster plan --env=ENV && dagger call cluster apply --env=ENV"
	talosconfigHint = "(umask 077; dagger call cluster talosconfig --env=ENV plaintext >~/.talos/ENV)   # for talosctl in a terminal"
)
