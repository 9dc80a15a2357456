package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// debianSuite is what the engine's root and the images are made of.
const debianSuite = "trixie"

// sourceDateEpoch stands in for every time stamp that would differ from one
// build to the next: 2026-01-01 00:00 UTC.
const sourceDateEpoch = 1767225600

// debianOptions shape each root alike: no documentation, as in the slim images,
// and nothing of the host that builds it.
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

// debianInputs lists what a root with packages depends on. The packages'
// versions are the newest of the suite on the day: `make clean` takes newer ones.
func debianInputs(packages []string) []string {
	return append([]string{debianSuite, strconv.Itoa(sourceDateEpoch), strings.Join(packages, ",")}, debianOptions...)
}

// debian makes a minimal root with packages at target: a folder, or an archive
// if its name ends in .tar.
func (s settings) debian(ctx context.Context, packages []string, target string) error {
	args := append([]string{"--quiet"}, debianOptions...)
	if len(packages) > 0 {
		args = append(args, "--include="+strings.Join(packages, ","))
	}
	scratch, err := os.MkdirTemp(s.cache, "debian-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	cmd := exec.CommandContext(ctx, "mmdebstrap", append(args, debianSuite, target)...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.Itoa(sourceDateEpoch), "TMPDIR="+scratch)
	_, err = output(cmd)
	return err
}
