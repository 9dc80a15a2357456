package toolchain

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"slipway/internal/pins"
)

var (
	root     = fstest.MapFS{"etc/os-release": {Data: []byte("ID=debian\nVERSION_CODENAME=trixie\n")}}
	debian   = pins.Pin{Name: "DEBIAN", Tag: "trixie-slim"}
	golang   = pins.Pin{Name: "GOLANG", Tag: strings.TrimPrefix(runtime.Version(), "go") + "-trixie"}
	opentofu = pins.Pin{Name: "OPENTOFU", Tag: "1.12.6-minimal"}
	ansible  = pins.Pin{Name: "ANSIBLE", Tag: "3.13-slim-trixie"}
)

// Where a tool is missing, the others are still compared, and its row says why.
func TestCompare(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	rows, err := Compare(t.Context(), root, []pins.Pin{opentofu, golang, ansible, debian}, Tofu)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := Write(&table, rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || !rows[0].OK() || !rows[1].OK() || rows[2].OK() || rows[2].Err == nil {
		t.Errorf("unexpected\n%s", &table)
	}
	if !strings.Contains(table.String(), "executable file not found") {
		t.Errorf("the table does not say what is wrong:\n%s", &table)
	}
}

func TestCompareMismatch(t *testing.T) {
	rows, err := Compare(t.Context(), root, []pins.Pin{{Name: "DEBIAN", Tag: "bookworm-slim"}, golang, opentofu, ansible, {Name: "PROVIDERS", Tag: "1"}}, Tofu)
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].OK() || rows[0].Found != "trixie" || rows[0].Pinned != "bookworm" {
		t.Errorf("got %+v", rows[0])
	}
}

// A pin without a tool, or a tool without a pin, would be passed over.
func TestComparePinsAndToolsBelongTogether(t *testing.T) {
	for want, list := range map[string][]pins.Pin{
		"the pins file has no OPENTOFU":                   {debian, golang, ansible},
		"the pins file has no ANSIBLE":                    {debian, golang, opentofu},
		"the pins file has NEW, which belongs to no tool": {debian, golang, opentofu, ansible, {Name: "NEW", Tag: "1"}},
	} {
		if _, err := Compare(t.Context(), root, list, Tofu); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The version that ansible-playbook prints counts, and the pin names its beginning.
func TestCompareAnsible(t *testing.T) {
	all := []pins.Pin{debian, golang, opentofu, ansible}
	for printed, ok := range map[string]bool{
		"ansible-playbook [core 2.19.11]\n  config file = None": true,
		"ansible-playbook [core 2.190.1]":                       false,
		"ansible-playbook [core 2.20.1]":                        false,
		"ansible 2.19":                                          false,
	} {
		bin := t.TempDir()
		if err := os.Chmod(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "ansible-playbook"), []byte("#!/bin/sh\necho '"+printed+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin)
		rows, err := Compare(t.Context(), root, all, Ansible)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 || rows[0].Tool != "ansible-core" || rows[0].Pinned != "2.19" || rows[0].OK() != ok {
			t.Errorf("%s: got %+v", printed, rows)
		}
	}
}
