package journal

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTake(t *testing.T) {
	start := func(address, action, id string) Entry {
		return Entry{Kind: Start, Address: address, Action: action, ID: id}
	}
	done := func(address, action, id string) Entry {
		return Entry{Kind: Complete, Address: address, Action: action, ID: id}
	}
	begin := Entry{Kind: Begin, Run: &Header{Creates: []string{"a"}}}
	failed := Entry{Kind: Errored, Address: "a", Action: "create"}
	for name, c := range map[string]struct {
		entries              []Entry
		made, gone, inFlight []string // address and ID
		planned              string   // address
	}{
		"planned":               {[]Entry{begin}, nil, nil, nil, "a"},
		"planned and failed":    {[]Entry{begin, start("a", "create", ""), failed}, nil, nil, nil, "a"},
		"planned and in flight": {[]Entry{begin, start("a", "create", "")}, nil, nil, []string{"a "}, ""},
		"planned and made":      {[]Entry{begin, start("a", "create", ""), done("a", "create", "1")}, []string{"a 1"}, nil, nil, ""},
		"planned as a replacement, old one deleted": {[]Entry{begin, start("a", "delete", "1"), done("a", "delete", "")}, nil, []string{"a "}, nil, "a"},
		"planned as a replacement, delete is open":  {[]Entry{begin, start("a", "delete", "1")}, nil, nil, []string{"a 1"}, "a"},
		"nothing":            {[]Entry{{Kind: Begin}}, nil, nil, nil, ""},
		"made":               {[]Entry{start("a", "create", ""), done("a", "create", "1")}, []string{"a 1"}, nil, nil, ""},
		"in flight":          {[]Entry{start("a", "create", "")}, nil, nil, []string{"a "}, ""},
		"failed":             {[]Entry{start("a", "create", ""), failed}, nil, nil, nil, ""},
		"deleted":            {[]Entry{start("a", "delete", "1"), done("a", "delete", "")}, nil, []string{"a "}, nil, ""},
		"updated":            {[]Entry{start("a", "update", "1"), done("a", "update", "1")}, nil, nil, nil, ""},
		"update in flight":   {[]Entry{start("a", "update", "1")}, nil, nil, []string{"a 1"}, ""},
		"made, then deleted": {[]Entry{done("a", "create", "1"), start("a", "delete", "1"), done("a", "delete", "")}, nil, []string{"a "}, nil, ""},
		"replaced":           {[]Entry{start("a", "delete", "1"), done("a", "delete", ""), start("a", "create", ""), done("a", "create", "2")}, []string{"a 2"}, nil, nil, ""},
		"replaced, the new one first": {
			[]Entry{start("a", "create", ""), done("a", "create", "2"), start("a", "delete", "1"), done("a", "delete", "")},
			[]string{"a 2"}, nil, nil, "",
		},
		"the old one of a replacement in flight": {
			[]Entry{done("a", "create", "2"), start("a", "delete", "1")},
			[]string{"a 2"}, nil, []string{"a 1"}, "",
		},
		"several": {
			[]Entry{start("b", "create", ""), start("a", "create", ""), done("a", "create", "1")},
			[]string{"a 1"}, nil, []string{"b "}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Replay(c.entries)
			for what, pair := range map[string][2][]string{
				"made": {names(got.Created), c.made}, "gone": {names(got.Deleted), c.gone}, "in flight": {names(got.InFlight), c.inFlight},
			} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
				}
			}
			if planned := strings.TrimSpace(strings.Join(names(got.Planned), "")); planned != c.planned {
				t.Errorf("planned: got %q, want %q", planned, c.planned)
			}
		})
	}
}

func names(entries []Entry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Address+" "+e.ID)
	}
	return list
}

// What a run replaces, and since when what it changed can be its work, come from its
// header; of several runs, the last that changed an address counts.
func TestTakeRuns(t *testing.T) {
	first, second := time.Unix(1000, 0), time.Unix(2000, 0)
	account := Replay([]Entry{
		{Kind: Begin, Run: &Header{Started: first, Creates: []string{"a", "b", "c"}, Replaces: []string{"a"}}},
		{Kind: Start, Address: "b", Action: "create"},
		{Kind: Start, Address: "d", Action: "update", ID: "4"},
		{Kind: Begin, Run: &Header{Started: second, Creates: []string{"c"}, Replaces: []string{"c"}}},
		{Kind: Start, Address: "c", Action: "create"},
	})
	if !slices.Equal(account.Replaced, []string{"a", "c"}) {
		t.Errorf("replaced: %q", account.Replaced)
	}
	for address, want := range map[string]time.Time{"a": first, "b": first, "c": second, "d": first} {
		if got := account.Began[address]; !got.Equal(want) {
			t.Errorf("%s can be from %s on, want %s", address, got, want)
		}
	}
}

// A delete is of what a replacement left only if it names another object than the one that
// was made.
func TestTakeDeletes(t *testing.T) {
	made := Entry{Kind: Complete, Address: "a", Action: "create", ID: "2"}
	gone := Entry{Kind: Complete, Address: "a", Action: "delete"}
	for name, c := range map[string]struct {
		entries []Entry
		made    int
	}{
		"of the old one":                 {[]Entry{made, {Kind: Start, Address: "a", Action: "delete", ID: "1"}, gone}, 1},
		"of the one that was made":       {[]Entry{made, {Kind: Start, Address: "a", Action: "delete", ID: "2"}, gone}, 0},
		"of one without an ID":           {[]Entry{made, {Kind: Start, Address: "a", Action: "delete"}, gone}, 0},
		"whose start is not known":       {[]Entry{made, gone}, 0},
		"of one that was deleted before": {[]Entry{{Kind: Complete, Address: "a", Action: "delete", ID: "3"}, {Kind: Start, Address: "a", Action: "delete", ID: "1"}, gone}, 0},
	} {
		account := Replay(c.entries)
		if len(account.Created) != c.made || len(account.Deleted) != 1-c.made {
			t.Errorf("%s: %+v", name, account)
		}
	}
}
