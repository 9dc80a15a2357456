// Package toolchain compares the tools that are there with the pins that chose
// them.
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

// Tools lists them in the order in which they are shown.
var Tools = []Tool{
	{"DEBIAN", "debian", debianVersion},
	{"GOLANG", "go", goVersion},
	{"OPENTOFU", "opentofu", tofuVersion},
}

// toolless are pins that a pins file may have besides: a mirror of providers, each
// of which has a version of its own, and our own programs.
var toolless = []string{"PROVIDERS", "RUNNER"}

// debianVersion is the code name, as the image's tag has it.
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

// goVersion is that of the compiler which built this program: all that is left
// of the golang image.
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
		return "", fmt.Errorf("read what tofu version says: %w", err)
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

// OK says whether the tool is the pinned one.
func (r Row) OK() bool { return r.Err == nil && r.Found == r.Pinned }

// Compare asks every tool for its version. Each pin must have its tool and each
// tool its pin, or the comparison would pass over one of them.
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
		return nil, fmt.Errorf("the pins file has %s, which no tool comes from", name)
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
