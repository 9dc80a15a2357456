package marker

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestMarker(t *testing.T) {
	one, err := New("prod", "first")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(data)
	if err != nil || !m.ProvedBy("first") || m.ProvedBy("second") || m.ProvedBy("") {
		t.Errorf("%+v, %v", m, err)
	}
	again, err := New("prod", "first")
	if err != nil || again.Proof == one.Proof || again.Salt == one.Salt {
		t.Errorf("two markers are alike: %+v %+v, %v", one, again, err)
	}
	m.Environment = "test"
	if m.ProvedBy("first") {
		t.Error("the proof holds for another environment")
	}
	// The proof is not an HMAC of the passphrase itself.
	if fast := fastProof("prod", "first"); strings.Contains(string(data), fast) {
		t.Error("the proof is a fast oracle")
	}
	begin := time.Now()
	one.ProvedBy("a try")
	if took := time.Since(begin); took < 5*time.Millisecond { //nolint:forbidigo // a lower limit
		t.Errorf("a try takes %v only", took)
	}
}

func fastProof(environment, passphrase string) string {
	mac := hmac.New(sha256.New, []byte(passphrase))
	mac.Write([]byte("slipway environment " + environment))
	return hex.EncodeToString(mac.Sum(nil))
}

// A marker of version 1 is still read.
func TestFirstMarker(t *testing.T) {
	m, err := Read([]byte(`{"version":1,"environment":"prod","proof":"` + fastProof("prod", "first") + `"}`))
	if err != nil || !m.ProvedBy("first") || m.ProvedBy("second") {
		t.Errorf("%+v, %v", m, err)
	}
}

// Nobody proves anything by no passphrase, in either version, and no marker is made
// without one.
func TestMarkerWithoutPassphrase(t *testing.T) {
	if m, err := New("prod", ""); err == nil {
		t.Errorf("it is made: %+v", m)
	}
	first := Marker{Version: 1, Environment: "prod", Proof: fastProof("prod", "")}
	second, err := New("prod", "x")
	if err != nil {
		t.Fatal(err)
	}
	second.Proof = second.proof("")
	for _, m := range []Marker{first, second} {
		if m.ProvedBy("") {
			t.Errorf("%+v is proved by nothing", m)
		}
	}
}

func TestReadMarkerRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{}", `{"version":3,"environment":"prod","proof":"00"}`, `{"version":2,"environment":"prod","proof":"00"}`,
		`{"version":2,"environment":"prod","salt":"AAAA","proof":"00"}`, `{"version":2,"environment":"prod","salt":"!","proof":"00"}`,
		`{"version":1,"environment":"prod","salt":"AAAA","proof":"00"}`,
	} {
		if m, err := Read([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, m)
		}
	}
}

// Each command that opens an environment pays for one proof.
func BenchmarkMarker(b *testing.B) {
	m, err := New("prod", "first")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.ProvedBy("first")
	}
}

// A marker that no version of Slipway writes is refused.
func TestReadRefuses(t *testing.T) {
	salt := base64.RawStdEncoding.EncodeToString(make([]byte, saltBytes))
	whole := base64.StdEncoding.EncodeToString(make([]byte, saltBytes))
	for name, text := range map[string]string{
		"no JSON":             `{"version":2`,
		"version 1 with salt": `{"version":1,"environment":"prod","salt":"` + whole + `","proof":"x"}`,
		"version 2 without":   `{"version":2,"environment":"prod","proof":"x"}`,
		"a short salt":        `{"version":2,"environment":"prod","salt":"AAAA","proof":"x"}`,
		"a damaged salt":      `{"version":2,"environment":"prod","salt":"` + salt + `!","proof":"x"}`,
		"a salt, and more":    `{"version":2,"environment":"prod","salt":"` + whole + `!","proof":"x"}`,
		"version 3":           `{"version":3,"environment":"prod","salt":"` + whole + `","proof":"x"}`,
		"version 0":           `{"environment":"prod","salt":"` + whole + `","proof":"x"}`,
	} {
		if m, err := Read([]byte(text)); err == nil || m != (Marker{}) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}
