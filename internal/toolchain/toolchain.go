// Package toolchain compares the installed tools with their pins.
package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
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
	Found func(ctx context.Context, root fs.FS) (version string, err error) // root is the file system of the container
}

// Tools lists the tools in display order.
var Tools = []Tool{
	{"DEBIAN", "debian", debianVersion},
	{"GOLANG", "go", goVersion},
	{"OPENTOFU", "opentofu", tofuVersion},
}

// toolless lists pins without a tool that a pins file may also contain: a mirror of providers, each
// of which has its own version, our own programs, and the images that servers run.
var toolless = []string{"PROVIDERS", "RUNNER", "CADDY", "MOSQUITTO", "BACKEND", "POWERSYNC"}

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

// A Row is one tool's version beside its pin.
type Row struct {
	Tool   string
	Pinned string
	Found  string // empty if Err is set
	Err    error
}

// OK reports whether the tool is the pinned one.
func (r Row) OK() bool { return r.Err == nil && r.Found == r.Pinned }

// Compare gets the version of every tool. Each pin must have a tool and each tool a pin, otherwise
// the comparison would skip one of them.
func Compare(ctx context.Context, root fs.FS, list []pins.Pin) ([]Row, error) {
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
