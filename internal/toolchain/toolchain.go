// Package toolchain compares the installed tools with their pins.
package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"slipway/internal/confine"
	"slipway/internal/pins"
)

// A Tool is what a pinned image contributes to the toolchain.
type Tool struct {
	Pin   string // name of the image's pin
	Name  string
	Where string // the container: Tofu or Ansible
	// Version is the beginning of the version, if the image's tag is not that of the tool.
	Version string
	Found   func(ctx context.Context, root fs.FS) (version string, err error) // root is the file system of the container
}

// The containers with tools.
const (
	Tofu    = "tofu"
	Ansible = "ansible"
)

// Tools lists the tools in display order.
var Tools = []Tool{
	{Pin: "DEBIAN", Name: "debian", Where: Tofu, Found: debianVersion},
	{Pin: "GOLANG", Name: "go", Where: Tofu, Found: goVersion},
	{Pin: "OPENTOFU", Name: "opentofu", Where: Tofu, Found: tofuVersion},
	{Pin: "ANSIBLE", Name: "ansible-core", Where: Ansible, Version: "2.19", Found: ansibleVersion},
}

// toolless lists pins without a tool that a pins file may also contain: a mirror of providers, each
// of which has its own version, our own programs, the images that servers run, and the tools for clusters, which would have
// to be pulled or built to be asked.
var toolless = []string{"PROVIDERS", "RUNNER", "CADDY", "MOSQUITTO", "BACKEND", "POWERSYNC", "KUBECTL", "TALOSCTL", "HELM"}

// debianVersion returns the code name, as in the image's tag.
func debianVersion(_ context.Context, root fs.FS) (string, error) {
	data, err := fs.ReadFile(root, "etc/os-release")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			return strings.Trim(name, `"`), nil
		}
	}
	return "", fmt.Errorf("/etc/os-release names no VERSION_CODENAME")
}

// goVersion returns the version of the compiler that built this program: nothing else is left of
// the golang image.
func goVersion(context.Context, fs.FS) (string, error) {
	return strings.TrimPrefix(runtime.Version(), "go"), nil
}

func tofuVersion(ctx context.Context, _ fs.FS) (string, error) {
	cmd := confine.Command(ctx, "tofu", "version", "-json")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1"}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := confine.Run(cmd); err != nil {
		return "", fmt.Errorf("run tofu version: %w", err)
	}
	var reply struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil {
		return "", fmt.Errorf("read the output of tofu version: %w", err)
	}
	return reply.Version, nil
}

func ansibleVersion(ctx context.Context, _ fs.FS) (string, error) {
	cmd := confine.Command(ctx, "ansible-playbook", "--version")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C.UTF-8", "ANSIBLE_HOME=/nonexistent", "ANSIBLE_LOCAL_TEMP=/tmp"}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := confine.Run(cmd); err != nil {
		return "", fmt.Errorf("run ansible-playbook --version: %w", err)
	}
	// ansible-playbook [core 2.19.11]
	_, version, ok := strings.Cut(out.String(), "[core ")
	version, _, closed := strings.Cut(version, "]")
	if !ok || !closed {
		return "", errors.New("ansible-playbook --version names no version")
	}
	return version, nil
}

// A Row is one tool's version beside its pin.
type Row struct {
	Tool   string
	Pinned string
	Found  string // empty if Err is set
	Err    error
}

// OK reports whether the tool is the pinned one. A pin may name the beginning of a version.
func (r Row) OK() bool {
	return r.Err == nil && (r.Found == r.Pinned || strings.HasPrefix(r.Found, r.Pinned+"."))
}

// Compare gets the version of every tool in a container. Each pin must have a tool and each tool a pin, otherwise
// the comparison would skip one of them.
func Compare(ctx context.Context, root fs.FS, list []pins.Pin, where string) ([]Row, error) {
	pinned := map[string]string{}
	for _, p := range list {
		pinned[p.Name] = p.Version()
	}
	var rows []Row
	for _, tool := range Tools {
		version, ok := pinned[tool.Pin]
		if !ok {
			return nil, fmt.Errorf("the pins file has no %s", tool.Pin)
		}
		delete(pinned, tool.Pin)
		if tool.Where != where {
			continue
		}
		version = cmp.Or(tool.Version, version)
		found, err := tool.Found(ctx, root)
		rows = append(rows, Row{tool.Name, version, found, err})
	}
	for name := range pinned {
		if slices.Contains(toolless, name) {
			continue
		}
		return nil, fmt.Errorf("the pins file has %s, which belongs to no tool", name)
	}
	return rows, nil
}

// Write prints the rows as a table.
func Write(w io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tPINNED\tFOUND")
	for _, r := range rows {
		remark := ""
		switch {
		case r.Err != nil:
			remark = "\t" + r.Err.Error()
		case !r.OK():
			remark = "\tis not the pinned version"
		}
		fmt.Fprintf(table, "%s\t%s\t%s%s\n", r.Tool, r.Pinned, r.Found, remark)
	}
	return table.Flush()
}
