package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The images of the system that Ansible deploys, for a server that reaches no registry: Docker
// there pulls them from ours. The first two are Debian's packages with the paths, the user and the
// command of the official images of the same name; the tag is the version in Debian's suite.
var (
	caddyImage = image{
		pin: "CADDY", reference: "docker.io/library/caddy:2.6.2",
		debian: true, packages: []string{"caddy", "ca-certificates"},
		config: v1.Config{
			Cmd:          []string{"caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"},
			Env:          []string{searchPath, "XDG_CONFIG_HOME=/config", "XDG_DATA_HOME=/data"},
			ExposedPorts: ports("80/tcp", "443/tcp", "443/udp", "2019/tcp"),
			WorkingDir:   "/srv",
		},
		hooks: []string{`mkdir -p "$1"/config/caddy "$1"/data/caddy "$1"/srv`},
	}
	mosquittoImage = image{
		pin: "MOSQUITTO", reference: "docker.io/library/eclipse-mosquitto:2.0.21",
		debian: true, packages: []string{"mosquitto", "mosquitto-clients"}, // with mosquitto_passwd and mosquitto_sub
		config: v1.Config{
			Cmd:          []string{"/usr/sbin/mosquitto", "-c", "/mosquitto/config/mosquitto.conf"},
			Env:          []string{searchPath},
			ExposedPorts: ports("1883/tcp"),
		},
		hooks: []string{
			// Started as root, the broker becomes the user mosquitto.
			`chroot "$1" groupmod --gid 1883 mosquitto`,
			`chroot "$1" usermod --uid 1883 --gid 1883 --home /mosquitto mosquitto`,
			`mkdir -p "$1"/mosquitto/config "$1"/mosquitto/data "$1"/mosquitto/log`,
			`echo 'per_listener_settings false' >"$1"/mosquitto/config/mosquitto.conf`,
			`chown -R 1883:1883 "$1"/mosquitto "$1"/var/lib/mosquitto`,
			`rm -f "$1"/etc/passwd- "$1"/etc/group- "$1"/etc/shadow- "$1"/etc/gshadow-`,
		},
	}
	backendImage = image{
		pin: "BACKEND", reference: "docker.io/slipway/backend:1",
		debian: true, root: "node", packages: nodePackages, hooks: nodeHooks,
		app: "examples/backend", config: nodeConfig,
	}
	powersyncImage = image{
		pin: "POWERSYNC", reference: "docker.io/slipway/powersync-standin:1",
		debian: true, root: "node", packages: nodePackages, hooks: nodeHooks,
		app: "examples/powersync-standin", config: nodeConfig,
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

// debianOptions are those of mmdebstrap for this image.
func (i image) debianOptions() []string {
	options := debianImageOptions
	for _, hook := range i.hooks {
		options = append(options[:len(options):len(options)], "--customize-hook="+hook)
	}
	return options
}

// debianRoot is the archive of a Debian root that several images share.
func (i image) debianRoot(s settings) product {
	return product{
		name:   "debian-" + i.root,
		inputs: append([]string{"debian root 1"}, debianInputs(i.packages, i.debianOptions()...)...),
		make: func(ctx context.Context, dir string) error {
			return s.debian(ctx, filepath.Join(dir, debianArchive), i.packages, i.debianOptions()...)
		},
	}
}

const debianArchive = "root.tar"

// appFiles lists the files of a program of ours, by their paths in its folder, without its tests,
// its documentation and what npm may have left there.
func appFiles(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "test") {
			return filepath.SkipDir
		}
		if d.IsDir() || strings.HasSuffix(d.Name(), ".test.js") || strings.HasSuffix(d.Name(), ".md") {
			return nil
		}
		name, err := filepath.Rel(folder, path)
		names = append(names, name)
		return err
	})
	return names, err
}

// appInputs describes the program's files. One that cannot be read is reported when it is archived.
func appInputs(folder string) []string {
	names, err := appFiles(folder)
	inputs := []string{"app 1"}
	if err != nil {
		return append(inputs, err.Error())
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return append(inputs, err.Error())
		}
		sum := sha256.Sum256(data)
		inputs = append(inputs, name, hex.EncodeToString(sum[:]))
	}
	return inputs
}

// appLayer archives a program at /app with the packages in its package-lock.json, whose checksums
// npm verifies. None of them may need a script to be installed.
func (s settings) appLayer(ctx context.Context, folder, scratch, archive string) error {
	names, err := appFiles(folder)
	if err != nil {
		return err
	}
	app := filepath.Join(scratch, "app")
	for _, name := range names {
		to := filepath.Join(app, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := install(filepath.Join(folder, name), to, 0o644); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(app, "package-lock.json")); err == nil {
		if err := s.npm(ctx, app); err != nil {
			return err
		}
	}
	return writeLayer(archive, placement{app, "/app", never})
}

// npm installs a program's packages from the registry that this machine is configured for.
func (s settings) npm(ctx context.Context, app string) error {
	cmd := exec.CommandContext(ctx, "npm", "ci", "--omit=dev", "--ignore-scripts", "--no-bin-links", "--no-audit", "--no-fund",
		"--no-update-notifier", "--cache="+filepath.Join(s.cache, "npm"))
	cmd.Dir = app
	if _, err := output(cmd); err != nil {
		return fmt.Errorf("install the packages of %s: %w", filepath.Base(app), err)
	}
	// npm's own note of what it did may name that registry.
	err := os.Remove(filepath.Join(app, "node_modules", ".package-lock.json"))
	if os.IsNotExist(err) { // there are no packages
		return nil
	}
	return err
}
