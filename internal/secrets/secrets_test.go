package secrets

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"filippo.io/age"
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
		"a line is missing":          strings.Join(append([]string{lines[0]}, lines[2:]...), "\n"),
		"a value under another name": strings.Join(swapped, "\n"),
		"a plain value":              "NEW=plain\n" + data,
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
