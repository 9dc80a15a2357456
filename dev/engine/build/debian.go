package build

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// DebianSuite is the Debian release of the engine's root and the images.
const DebianSuite = "trixie"

// sourceDateEpoch replaces every time stamp that would differ between builds: 2026-01-01 00:00 UTC.
const sourceDateEpoch = 1767225600

// debianOptions are the same for each root: no documentation, as in the slim images, and nothing
// from the build host.
var debianOptions = []string{
	"--mode=root", "--variant=minbase",
	"--dpkgopt=path-exclude=/usr/share/man/*",
	"--dpkgopt=path-exclude=/usr/share/doc/*",
	"--dpkgopt=path-include=/usr/share/doc/*/copyright",
	"--dpkgopt=path-exclude=/usr/share/locale/*",
	"--customize-hook=rm -f \"$1\"/etc/resolv.conf \"$1\"/etc/hostname \"$1\"/etc/machine-id",
	"--customize-hook=rm -rf \"$1\"/var/log/* \"$1\"/var/cache/ldconfig",
	"--skip=output/dev",
}

// DebianImageOptions are for a root that becomes an image. Without update-ca-certificates, the
// engine itself adds the host's certificates to the bundle, which is instant; with it, each exec
// takes two seconds longer.
var DebianImageOptions = []string{"--customize-hook=rm -f \"$1\"/usr/sbin/update-ca-certificates"}

// DebianInputs lists what a root with packages depends on. Package versions are the newest of the
// suite on that day: `make clean` makes the next build use newer ones.
func DebianInputs(packages []string, options ...string) []string {
	return slices.Concat([]string{DebianSuite, strconv.Itoa(sourceDateEpoch), strings.Join(packages, ",")}, debianOptions, options)
}

// Debian creates a minimal root with packages at target: a folder, or an archive if its name ends
// in .tar.
func (c Cache) Debian(ctx context.Context, target string, packages []string, options ...string) error {
	args := slices.Concat([]string{"--quiet"}, debianOptions, options)
	if len(packages) > 0 {
		args = append(args, "--include="+strings.Join(packages, ","))
	}
	scratch, err := os.MkdirTemp(c.Scratch(), "debian-")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mmdebstrap", append(args, DebianSuite, target)...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.Itoa(sourceDateEpoch), "TMPDIR="+scratch)
	_, err = Output(cmd)
	return err
}

// Unpack extracts the archive into dir.
func Unpack(ctx context.Context, archive, dir string) error {
	_, err := Output(exec.CommandContext(ctx, "tar", "-C", dir, "-xf", archive))
	return err
}
