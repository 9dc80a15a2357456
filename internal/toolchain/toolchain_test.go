package toolchain

import (
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
)

// Where a tool is missing, the others are still compared, and its row says why.
func TestCompare(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	rows, err := Compare(t.Context(), root, []pins.Pin{opentofu, golang, debian})
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
	rows, err := Compare(t.Context(), root, []pins.Pin{{Name: "DEBIAN", Tag: "bookworm-slim"}, golang, opentofu, {Name: "PROVIDERS", Tag: "1"}})
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
		"the pins file has no OPENTOFU":                   {debian, golang},
		"the pins file has NEW, which belongs to no tool": {debian, golang, opentofu, {Name: "NEW", Tag: "1"}},
	} {
		if _, err := Compare(t.Context(), root, list); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
