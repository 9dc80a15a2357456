package secrets

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
)

// identity makes a new one and returns it with its recipient.
func identity(t *testing.T) (Identity, string) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ParseIdentity("# created: today\n" + key.String() + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return parsed, key.Recipient().String()
}

var sample = map[string]string{
	"PLAIN":      "a value",
	"QUOTED":     `it's "quoted" \ and = signs`,
	"MULTI_LINE": "first line\nsecond line\n",
	"EMPTY":      "",
	"UNICODE":    "pässwörd ✓",
}

// seal is Seal that must succeed.
func seal(t *testing.T, name string, recipients ...string) []byte {
	t.Helper()
	data, err := Seal(name, sample, recipients)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sealText seals a file as it is written.
func sealText(t *testing.T, name, plain, recipient string) []byte {
	t.Helper()
	store, err := storeFor(name)
	if err != nil {
		t.Fatal(err)
	}
	branches, err := store.LoadPlainFile([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	group, err := keyGroup([]string{recipient})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealWithNewKey(name, sops.Tree{Branches: branches, Metadata: sops.Metadata{KeyGroups: []sops.KeyGroup{group}}, FilePath: name})
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func mustDecrypt(t *testing.T, name string, data []byte, i Identity) map[string]string {
	t.Helper()
	values, err := Decrypt(name, data, i)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestRoundTrip(t *testing.T) {
	i, recipient := identity(t)
	for _, name := range []string{"test.enc.env", "test.enc.yaml", "test.enc.json"} {
		t.Run(name, func(t *testing.T) {
			data := seal(t, name, recipient)
			for _, value := range sample {
				if len(value) > 0 && bytes.Contains(data, []byte(value)) {
					t.Errorf("the sealed file holds %q", value)
				}
			}
			if got := mustDecrypt(t, name, data, i); !maps.Equal(got, sample) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestForeignRecipient(t *testing.T) {
	_, theirs := identity(t)
	mine, me := identity(t)
	_, err := Decrypt("a.enc.env", seal(t, "a.enc.env", theirs), mine)
	var foreign *ForeignError
	if !errors.As(err, &foreign) || foreign.Recipients[0] != theirs || foreign.Mine[0] != me {
		t.Errorf("got %v", err)
	}
}

func TestTampering(t *testing.T) {
	i, recipient := identity(t)
	data := string(seal(t, "a.enc.env", recipient))
	lines := strings.Split(data, "\n")
	swapped := append([]string{}, lines...)
	swapped[0] = "EMPTY=" + strings.SplitN(lines[1], "=", 2)[1]
	for name, text := range map[string]string{
		"a line is missing":           strings.Join(append([]string{lines[0]}, lines[2:]...), "\n"),
		"a value under another name":  strings.Join(swapped, "\n"),
		"a plain value":               "NEW=plain\n" + data,
		"a value blanked by a second": data + "PLAIN=\n",
		"a new empty value":           data + "OTHER=\n",
		"a value blanked":             strings.Join(append([]string{"PLAIN="}, lines[1:]...), "\n"),
		"a value twice":               data + lines[0] + "\n",
		"metadata twice":              data + "sops_version=3.0.0\n",
	} {
		t.Run(name, func(t *testing.T) {
			if values, err := Decrypt("a.enc.env", []byte(text), i); err == nil {
				t.Errorf("accepted as %q", values)
			}
		})
	}
}

func TestPlainFile(t *testing.T) {
	i, _ := identity(t)
	_, err := Decrypt("a.enc.env", []byte("PASSWORD=hunter2-hunter2\n"), i)
	if !errors.Is(err, ErrPlain) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestSetChangesOneLine(t *testing.T) {
	i, recipient := identity(t)
	before := seal(t, "a.enc.env", recipient)
	after, err := Set("a.enc.env", before, i, "PLAIN", "another value")
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(sample)
	want["PLAIN"] = "another value"
	if got := mustDecrypt(t, "a.enc.env", after, i); !maps.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	old := strings.Split(string(before), "\n")
	for n, line := range strings.Split(string(after), "\n") {
		name, _, _ := strings.Cut(line, "=")
		if _, ours := sample[name]; ours && name != "PLAIN" && line != old[n] {
			t.Errorf("line %s changed too", name)
		}
	}
	if _, err := Set("a.enc.env", before, i, "not a name", "x"); err == nil {
		t.Error("a name with spaces is accepted")
	}
}

// A new variable is added to the others, even to an empty file, and the file records the time of
// the change.
func TestSetAdds(t *testing.T) {
	i, recipient := identity(t)
	for _, name := range []string{"a.enc.env", "a.enc.yaml", "a.enc.json"} {
		data, err := Seal(name, nil, []string{recipient})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		var begin time.Time
		for _, variable := range []string{"ONE", "TWO"} {
			begin = time.Now()
			if data, err = Set(name, data, i, variable, "value of "+variable); err != nil {
				t.Fatal(err)
			}
			want[variable] = "value of " + variable
			if got := mustDecrypt(t, name, data, i); !maps.Equal(got, want) {
				t.Errorf("%s: got %q", name, got)
			}
		}
		tree, err := load(name, data)
		if changed := tree.Metadata.LastModified; err != nil || changed.Before(begin.Truncate(time.Second)) || changed.After(time.Now()) {
			t.Errorf("%s: it was changed at %v, %v", name, tree.Metadata.LastModified, err)
		}
	}
}

// Comments and empty lines may come twice, names may not, in any format.
func TestTwice(t *testing.T) {
	i, recipient := identity(t)
	commented := "#NAME=value\n#NAME=value\n\n\n\n" + string(seal(t, "a.enc.env", recipient))
	if got := mustDecrypt(t, "a.enc.env", []byte(commented), i); !maps.Equal(got, sample) {
		t.Errorf("got %q", got)
	}
	data := string(seal(t, "a.enc.json", recipient))
	_, err := Decrypt("a.enc.json", []byte(strings.Replace(data, "{", `{"PLAIN": "",`, 1)), i)
	if !errors.Is(err, ErrTwice) || !strings.Contains(err.Error(), "PLAIN") {
		t.Errorf("got %v", err)
	}
	data = string(seal(t, "a.enc.yaml", recipient))
	if got, err := Decrypt("a.enc.yaml", []byte("PLAIN: \"\"\n"+data), i); err == nil {
		t.Errorf("got %q", got)
	}
}

func TestRotateAndUpdateKeys(t *testing.T) {
	mine, me := identity(t)
	other, them := identity(t)
	before := seal(t, "a.enc.env", me)
	rotated, err := Rotate("a.enc.env", before, mine)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(rotated, before) || !maps.Equal(mustDecrypt(t, "a.enc.env", rotated, mine), sample) {
		t.Error("rotating changed nothing, or the values")
	}
	moved, err := UpdateKeys("a.enc.env", rotated, mine, []string{them})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(mustDecrypt(t, "a.enc.env", moved, other), sample) {
		t.Error("the new recipient reads something else")
	}
	if _, err := Decrypt("a.enc.env", moved, mine); err == nil {
		t.Error("the recipient who was removed still reads it")
	}
}

// An identity file has a key of either kind on each line, and people edit it.
func TestParseIdentity(t *testing.T) {
	one, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	two, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := ParseIdentity("# a comment\r\n\r\n  " + one.String() + " \r\n\n\t# another\n" + two.String())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{one.Recipient().String(), two.Recipient().String()}
	if !slices.Equal(identity.Recipients(), want) {
		t.Errorf("got %q", identity.Recipients())
	}
	for _, recipient := range want {
		sealed, err := Envelope([]byte("text"), []string{recipient})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := identity.Open(sealed); err != nil || string(got) != "text" {
			t.Errorf("%s: %q, %v", recipient, got, err)
		}
		if got := mustDecrypt(t, "a.enc.env", seal(t, "a.enc.env", recipient), identity); !maps.Equal(got, sample) {
			t.Errorf("%s: %q", recipient, got)
		}
	}
}

func TestParseIdentityRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":      "# only a comment\n",
		"a public key": "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
		"a cut key":    "AGE-" + "SECRET-KEY-1ABC",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseIdentity(text)
			if err == nil || strings.Contains(err.Error(), "1ABC") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Only a key holder can declare a variable to be empty.
func TestEmptyValues(t *testing.T) {
	i, recipient := identity(t)
	data := string(seal(t, "a.enc.env", recipient)) + "OTHER=\n"
	var undeclared *UndeclaredError
	if _, err := Decrypt("a.enc.env", []byte(data), i); !errors.As(err, &undeclared) || undeclared.Variable != "OTHER" {
		t.Errorf("got %v", err)
	}
	if _, err := Set("a.enc.env", []byte(data), i, "PLAIN", "x"); !errors.As(err, &undeclared) {
		t.Errorf("another variable is set, and OTHER passes: %v", err)
	}
	for _, value := range []string{"", "now set"} {
		after, err := Set("a.enc.env", []byte(data), i, "OTHER", value)
		if err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(sample)
		want["OTHER"] = value
		if got := mustDecrypt(t, "a.enc.env", after, i); !maps.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	}
	filled, err := Set("a.enc.env", seal(t, "a.enc.env", recipient), i, "EMPTY", "no more")
	if err != nil || strings.Contains(string(filled), EmptyVariables) {
		t.Errorf("%v: the list of no variables is kept: %s", err, filled)
	}
}

// The list of empty variables is kept wherever it is in the file.
func TestEmptyValuesFirst(t *testing.T) {
	i, recipient := identity(t)
	data := sealText(t, "a.enc.json", `{"EMPTY_VARIABLES": "X", "X": "", "Y": "value"}`, recipient)
	for _, c := range []struct {
		variable, value string
		want            map[string]string
		listed          int
	}{
		{"Y", "other", map[string]string{"X": "", "Y": "other"}, 1},
		{"Y", "", map[string]string{"X": "", "Y": ""}, 1},
		{"X", "now set", map[string]string{"X": "now set", "Y": "value"}, 0},
	} {
		after, err := Set("a.enc.json", data, i, c.variable, c.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustDecrypt(t, "a.enc.json", after, i); !maps.Equal(got, c.want) || strings.Count(string(after), EmptyVariables) != c.listed {
			t.Errorf("%s=%s: %q in\n%s", c.variable, c.value, got, after)
		}
	}
}

// That a variable is empty hides no other fault of the file.
func TestSetRefusesAChangedFile(t *testing.T) {
	i, recipient := identity(t)
	lines := slices.DeleteFunc(strings.SplitAfter(string(seal(t, "a.enc.env", recipient)), "\n"), func(line string) bool { return strings.HasPrefix(line, "PLAIN=") })
	_, err := Set("a.enc.env", []byte(strings.Join(lines, "")+"OTHER=\n"), i, "OTHER", "x")
	if err == nil || !strings.Contains(err.Error(), "does not match its MAC: it was changed without sops") {
		t.Errorf("got %v", err)
	}
}

// A value that is not a string is printed as by `sops -d`, with which a person compares it.
func TestPrinted(t *testing.T) {
	i, recipient := identity(t)
	for name, c := range map[string]struct {
		plain string
		want  map[string]string
	}{
		"a.enc.yaml": {
			"DATE: 2024-02-29\nTIME: 2024-02-29T12:34:56Z\nZONE: 2024-02-29T12:34:56.5+02:00\nBIG: 9007199254740993\nBIGGER: 123456789012345678\nFLOAT: 1.50\nEXPONENT: 1e30\nBOOL: true\nTEXT: \"2024-02-29\"\nOCTAL: \"0123\"\n",
			map[string]string{"BIG": "9007199254740993", "BIGGER": "123456789012345678", "BOOL": "true", "TEXT": "2024-02-29", "OCTAL": "0123", "DATE": "2024-02-29T00:00:00Z", "TIME": "2024-02-29T12:34:56Z"},
		},
		"a.enc.json": {
			`{"BIG": 9007199254740993, "FLOAT": 1.50, "EXPONENT": 1e30, "SMALL": 0.0000001, "MILLIONS": 12345678, "BOOL": false, "TEXT": "1e30"}`,
			map[string]string{"BOOL": "false", "TEXT": "1e30", "MILLIONS": "12345678"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sealed := sealText(t, name, c.plain, recipient)
			got := mustDecrypt(t, name, sealed, i)
			store, err := storeFor(name)
			if err != nil {
				t.Fatal(err)
			}
			// What sops -d does: it decrypts the tree and emits it.
			tree, err := load(name, sealed)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := open(name, tree, i); err != nil {
				t.Fatal(err)
			}
			shown, err := store.EmitPlainFile(tree.Branches)
			if err != nil {
				t.Fatal(err)
			}
			for key, value := range got {
				if !regexp.MustCompile(`(?m)"?` + key + `"?: "?` + regexp.QuoteMeta(value) + `"?,?$`).Match(shown) {
					t.Errorf("%s is %q, and sops -d prints\n%s", key, value, shown)
				}
			}
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s is %q, not %q", key, got[key], want)
				}
			}
		})
	}
}

// What the sops library logs, such as the text of a comment that is not encrypted,
// goes where we say.
func TestLogTo(t *testing.T) {
	i, recipient := identity(t)
	var log bytes.Buffer
	LogTo(&log)
	t.Cleanup(func() { LogTo(io.Discard) })
	mustDecrypt(t, "a.enc.env", append([]byte("#canary-in-a-comment\n"), seal(t, "a.enc.env", recipient)...), i)
	if !strings.Contains(log.String(), "canary-in-a-comment") {
		t.Errorf("the log is %q", log.String())
	}
}
