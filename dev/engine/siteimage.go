package main

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"slipway/dev/engine/build"
)

// The images of the system that Ansible deploys, for a server that reaches no registry: Docker
// there pulls them from ours. The first two are Debian's packages with the paths, the user and the
// command of the official images of the same name; the tag is the version in Debian's suite.
var (
	caddyImage = build.Image{
		Pin: "CADDY", Reference: "docker.io/library/caddy:2.6.2",
		Debian: true, Packages: []string{"caddy", "ca-certificates"},
		Config: v1.Config{
			Cmd:          []string{"caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"},
			Env:          []string{searchPath, "XDG_CONFIG_HOME=/config", "XDG_DATA_HOME=/data"},
			ExposedPorts: ports("80/tcp", "443/tcp", "443/udp", "2019/tcp"),
			WorkingDir:   "/srv",
		},
		Hooks: []string{`mkdir -p "$1"/config/caddy "$1"/data/caddy "$1"/srv`},
	}
	mosquittoImage = build.Image{
		Pin: "MOSQUITTO", Reference: "docker.io/library/eclipse-mosquitto:2.0.21",
		Debian: true, Packages: []string{"mosquitto", "mosquitto-clients"}, // with mosquitto_passwd and mosquitto_sub
		Config: v1.Config{
			Cmd:          []string{"/usr/sbin/mosquitto", "-c", "/mosquitto/config/mosquitto.conf"},
			Env:          []string{searchPath},
			ExposedPorts: ports("1883/tcp"),
		},
		Hooks: []string{
			// Started as root, the broker becomes the user mosquitto.
			`chroot "$1" groupmod --gid 1883 mosquitto`,
			`chroot "$1" usermod --uid 1883 --gid 1883 --home /mosquitto mosquitto`,
			`mkdir -p "$1"/mosquitto/config "$1"/mosquitto/data "$1"/mosquitto/log`,
			`echo 'per_listener_settings false' >"$1"/mosquitto/config/mosquitto.conf`,
			`chown -R 1883:1883 "$1"/mosquitto "$1"/var/lib/mosquitto`,
			`rm -f "$1"/etc/passwd- "$1"/etc/group- "$1"/etc/shadow- "$1"/etc/gshadow-`,
		},
	}
	backendImage = build.Image{
		Pin: "BACKEND", Reference: "docker.io/slipway/backend:1",
		Debian: true, Root: "node", Packages: nodePackages, Hooks: nodeHooks,
		App: "examples/backend", Config: nodeConfig,
	}
	powersyncImage = build.Image{
		Pin: "POWERSYNC", Reference: "docker.io/slipway/powersync-standin:1",
		Debian: true, Root: "node", Packages: nodePackages, Hooks: nodeHooks,
		App: "examples/powersync-standin", Config: nodeConfig,
	}
)

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// What the images with a Node.js program share; the user is that of the official Node.js image.
var (
	nodePackages = []string{"nodejs"}
	nodeHooks    = []string{
		`echo node:x:1000:1000::/app:/usr/sbin/nologin >>"$1"/etc/passwd`,
		`echo node:x:1000: >>"$1"/etc/group`,
	}
	nodeConfig = v1.Config{
		Cmd:        []string{"node", "/app/server.js"},
		Env:        []string{searchPath, "NODE_ENV=production"},
		User:       "1000:1000",
		WorkingDir: "/app",
	}
)

func ports(list ...string) map[string]struct{} {
	set := map[string]struct{}{}
	for _, p := range list {
		set[p] = struct{}{}
	}
	return set
}
