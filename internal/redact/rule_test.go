package redact

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

const (
	certificate = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUcertificate0\n-----END CERTIFICATE-----\n"
	privateKey  = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIprivatekey0\n-----END PRIVATE KEY-----\n"
	publicKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBkeyofthehost0000000000000000000000000000 root@host"
	knownHosts  = "203.0.113.7 " + publicKey + "\nexample.org " + publicKey + "\n"
	kubeconfig  = `apiVersion: v1
kind: Config
clusters:
- name: prod
  cluster:
    server: https://abc.k8s.example.org:6443
    certificate-authority-data: ` + "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJzekNDQVZtZ0F3SUJBZ0lVY2VydGlmaWNhdGUwCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K" + `
users:
- name: admin
  user:
    token: the-token-of-kube
    client-key-data: ` + "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1DNENBUUF3QlFZREsyVndCQ0lFSXByaXZhdGVrZXkwCi0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K" + `
`
	serviceAccount = `{"type":"service_account","project_id":"my-project-1","private_key_id":"0f9e8d7c6b5a","private_key":"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIprivatekey0\n-----END PRIVATE KEY-----\n","client_email":"me@my-project-1.iam.gserviceaccount.com","token_uri":"https://oauth2.googleapis.com/token"}`
)

// Of a value that is made of others, the secrets are masked wherever they come up,
// and nothing else is.
func TestParts(t *testing.T) {
	docker := `{"auths":{"registry.example.org":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("robot:pw-of-the-robot")) + `"}}}`
	for name, c := range map[string]struct {
		value         string
		masked, shown []string
	}{
		"JSON":                  {`{"db":{"user":"backend","password":"s3cr3t-1","port":5432,"ssl":true},"tokens":["first-token","word"]}`, []string{"s3cr3t-1", "first-token", "word"}, []string{"backend", "5432", "true"}},
		"JSON within JSON":      {`{"config":"{\"inner\":\"{\\\"api_key\\\":\\\"s3cr3t-2\\\",\\\"host\\\":\\\"db.example.org\\\"}\"}"}`, []string{"s3cr3t-2"}, []string{"db.example.org"}},
		"keys of a map":         {`{"tok-8f3k2j9d1s":{"name":"create"}}`, []string{"tok-8f3k2j9d1s"}, []string{"create"}},
		"a list":                {`["a-longer-secret-1","create","postgres"]`, []string{"a-longer-secret-1"}, []string{"create", "postgres"}},
		"YAML":                  {"db:\n  user: backend\n  password: s3cr3t-3 with words\n  port: 5432\nlist:\n- true\n", []string{"s3cr3t-3 with words"}, []string{"backend", "5432", "true"}},
		"dotenv":                {"# comment\nexport DB_USER=backend\nDB_PASSWORD='s3cr3t-4'\nDB_HOST=db.example.org\n", []string{"s3cr3t-4"}, []string{"backend", "db.example.org"}},
		"INI":                   {"[default]\naws_access_key_id = AKIA0123\naws_secret_access_key = s3cr3t-5\nregion = eu-west-1\n", []string{"s3cr3t-5"}, []string{"eu-west-1"}},
		"URI":                   {"postgresql://avnadmin:s3cr3t%2D6@postgresql-1234-o5678.database.cloud.ovh.net:20184/defaultdb?sslmode=require", []string{"s3cr3t-6", "s3cr3t%2D6"}, []string{"postgresql-1234-o5678.database.cloud.ovh.net", "20184", "defaultdb", "avnadmin", "postgresql://avnadmin"}},
		"URI, two hosts":        {"mongodb://app:s3cr3t-7@one.example.org:1,two.example.org:2/db", []string{"s3cr3t-7"}, []string{"one.example.org", "two.example.org"}},
		"URI, not escaped":      {"redis://:s3cr3t/8#x@cache.example.org:6379", []string{"s3cr3t/8#x"}, []string{"cache.example.org"}},
		"URI, a token":          {"https://ghp-0123456789@example.org/repo.git", []string{"ghp-0123456789"}, []string{"example.org/repo.git"}},
		"URI, a parameter":      {"jdbc:postgresql://db.example.org/app?user=backend&password=s3cr3t-9", []string{"s3cr3t-9"}, []string{"backend", "db.example.org/app"}},
		"DSN of MySQL":          {"backend:s3cr3t-a@tcp(db.example.org:3306)/app?tls=true", []string{"s3cr3t-a"}, []string{"backend", "db.example.org:3306"}},
		"DSN of libpq":          {"host=db.example.org port=5432 user=backend password='s3cr3t-b' dbname=app", []string{"s3cr3t-b"}, []string{"backend", "db.example.org"}},
		"DSN of SQL Server":     {"Server=db.example.org;Database=app;User Id=backend;Password=s3cr3t-c;", []string{"s3cr3t-c"}, []string{"backend", "db.example.org"}},
		"kubeconfig":            {kubeconfig, []string{"the-token-of-kube", privateKey, "MC4CAQAwBQYDK2VwBCIEIprivatekey0"}, []string{"https://abc.k8s.example.org:6443", "admin", certificate, "apiVersion: v1\nkind: Config"}},
		"service account":       {serviceAccount, []string{"0f9e8d7c6b5a", privateKey}, []string{"service_account", "my-project-1", "me@my-project-1.iam.gserviceaccount.com", "https://oauth2.googleapis.com/token"}},
		"registry":              {docker, []string{"pw-of-the-robot"}, []string{"registry.example.org"}},
		"key and certificate":   {certificate + privateKey, []string{privateKey, "MC4CAQAwBQYDK2VwBCIEIprivatekey0"}, []string{certificate}},
		"key in base64":         {base64.StdEncoding.EncodeToString([]byte(privateKey)), []string{privateKey}, nil},
		"a public key":          {publicKey, nil, []string{publicKey}},
		"known_hosts":           {knownHosts, nil, []string{publicKey, knownHosts}},
		"a certificate":         {certificate, nil, []string{certificate}},
		"an age recipient":      {"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", nil, []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}},
		"lines":                 {"first-password-1\nsecond-password-2\nword\n", []string{"first-password-1", "second-password-2"}, []string{"word"}},
		"one word as it is":     {"backend", []string{"backend"}, nil},
		"a sentence":            {"note: this is not YAML", []string{"note: this is not YAML"}, nil},
		"a flow of one mapping": {"{password: s3cr3t-d}", []string{"s3cr3t-d"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := New(c.value)
			for _, text := range c.masked {
				for _, around := range []string{text, "before " + text + " after"} {
					if got := set.String(around); strings.Contains(got, text) {
						t.Errorf("%q becomes %q", around, got)
					}
				}
			}
			for _, text := range c.shown {
				if got := set.String("before " + text + " after"); got != "before "+text+" after" {
					t.Errorf("%q becomes %q", text, got)
				}
			}
			if got := set.String(c.value); len(c.masked) > 0 && !strings.Contains(got, Mask) {
				t.Errorf("as a whole it is %q", got)
			}
		})
	}
}

func TestLeaf(t *testing.T) {
	for _, c := range []struct {
		name   string
		within bool
		value  string
		want   bool
	}{
		{"password", false, "word", true},
		{"password", false, "true", false},
		{"db_password", false, "12345", true},
		{"apiKey", false, "abcdef", true},
		{"access_key", false, "abcdef", true},
		{"key", false, "abcdef", true},
		{"public_key", false, "abcdef-0123456789", false},
		{"monkey", false, "banana", false},
		{"user", false, "backend-1", false},
		{"username", false, "a.b@c", false},
		{"id", false, "0f9e8d7c", false},
		{"id", true, "0f9e8d7c", true},
		{"", false, "create", false},
		{"", false, "aKdjQwPzTr", true},
		{"", false, "correct horse", true},
		{"", false, "5432", false},
		{"", false, "123456789012", true},
		{"", false, "db.example.org:5432", false},
		{"", false, "10.0.0.0/8", false},
		{"", false, "2001:db8::1", false},
		{"backend", true, "word", true},
		{"pin", false, "1234", true},
		{"pin", false, "123", false},
		{"pin", false, " 12 ", false},
		{"password", false, " true\n", false},
		{"", false, "10.0.0.1:5432", false},
		{"", false, "[2001:db8::1]:443", false},
		{"host", true, "db.example.org", false},
		{"user", true, "backend", false},
		{"user", true, "backend-1", true},
	} {
		if got := Leaf(c.name, c.within, c.value); got != c.want {
			t.Errorf("Leaf(%q, %v, %q) is %v", c.name, c.within, c.value, got)
		}
	}
}

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"password", "backend", true},
		{"password", "a.example.org", true},
		{"", "backend", true},
		{"", "TRUE", false},
		{"password", " none\n", false},
		{"user", "backend", false},
		{"user", " backend\n", false},
		{"user", "backend-1", true},
		{"host", "db.example.org", false},
		{"host", "of a rather secret host", true},
		{"key", certificate, false},
		{"key", privateKey, true},
	} {
		if got := Whole(c.name, c.value); got != c.want {
			t.Errorf("Whole(%q, %q) is %v", c.name, c.value, got)
		}
	}
}

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "tokens": true, "apiKey": true, "private_key": true, "client-key-data": true, "psk": true,
		"host": false, "monkey": false, "": false,
		// What is public, and facts about a secret.
		"public_key": false, "secret_certificate": false, "token_uri": false, "password_policy": false, "secret_name": false,
	} {
		if got := SecretName(name); got != want {
			t.Errorf("SecretName(%q) is %v", name, got)
		}
	}
}

// A key looks made up if one of its parts has 8 characters, and among them two
// digits and two letters.
func TestKey(t *testing.T) {
	for name, want := range map[string]bool{
		"tok-8f3k2j9d1s": true, "abcdef12": true, "ABCDEF12": true, "ab345678": true, "AB345678": true, "aB345678": true,
		"aaaaaa00": true, "aaaaaa99": true, "000000aa": true, "000000zz": true, "000000AA": true, "000000ZZ": true,
		"abcde12": false, "abcd12-efgh34": false, "abcdefg1": false, "a2345678": false, "12345678": false, "database": false, "": false,
		"abcdef$$": false, "abcdef~~": false, "123456$$": false, "123456@@": false, "123456[[": false, "123456``": false, "123456{{": false,
	} {
		if got := Key(name); got != want {
			t.Errorf("Key(%q) is %v", name, got)
		}
	}
}

// What is public by its kind, all of it.
func TestPublic(t *testing.T) {
	block := func(kind string) string { return "-----BEGIN " + kind + "-----\nAAAA\n-----END " + kind + "-----\n" }
	base := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	public64 := base(certificate)
	for _, c := range []struct {
		value string
		want  bool
	}{
		{publicKey, true},
		{knownHosts, true},
		{knownHosts + "\n\n" + knownHosts, true},
		{knownHosts + "s3cr3t-line\n", false},
		{"s3cr3t-line\n" + knownHosts, false},
		{certificate + block("PUBLIC KEY") + certificate, true},
		{certificate + privateKey, false},
		{certificate + "s3cr3t", false},
		{public64, true},
		{public64[:len(public64)&^3] + "!s3cr3t", false},
		{base(certificate + privateKey), false},
		{base(privateKey), false},
		{block("CERTIFICATE REQUEST"), true},
		{block("TRUSTED CERTIFICATE"), true},
		{block("RSA PUBLIC KEY"), true},
		{block("X509 CRL"), true},
		{block("DH PARAMETERS"), true},
		{block("EC PRIVATE KEY"), false},
		{block("OPENSSH PRIVATE KEY"), false},
		{block("PGP MESSAGE"), false},
		{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", true},
		{"age1 is not a recipient", false},
		{"AGE-" + "SECRET-KEY-1ABC", false},
		{"hunter2", false},
	} {
		if got := public(strings.TrimSpace(c.value)); got != c.want {
			t.Errorf("public(%q) is %v", c.value, got)
		}
	}
}

// What a text shows of a value as a whole is found, what it shows of a part is not.
func TestFound(t *testing.T) {
	set := New("hunter2-hunter2", privateKey, `{"password":"s3cr3t-1"}`)
	for text, want := range map[string]string{
		"x hunter2-hunter2 x": "hunter2-hunter2",
		base64.StdEncoding.EncodeToString([]byte("hunter2-hunter2")): "hunter2-hunter2",
		"x s3cr3t-1 x": "s3cr3t-1",
		"s3cr3t-1 hunter2-hunter2 s3cr3t-1 hunter2-hunter2": "hunter2-hunter2 s3cr3t-1",
		"hunter2-hunter":                 "",
		"-----BEGIN PRIVATE KEY-----\nx": "",
	} {
		if got := strings.Join(set.Found(text), " "); got != want {
			t.Errorf("in %q: %q", text, got)
		}
	}
	if got := New("abcd").Found("x abcd"); !slices.Equal(got, []string{"abcd"}) {
		t.Errorf("of a short value: %q", got)
	}
	// A complete long value, also if it is read part by part.
	for _, length := range []int{300, 40_000} {
		long := made(length, alphanumeric)
		set := New(long)
		for text, want := range map[string]int{
			long: 1, "x " + long + " x": 1, long[:length-1]: 0, long[8:]: 0, long[32:]: 0, long[:200]: 0, long[:length/2] + "-" + long[length/2:]: 0,
		} {
			if got := set.Found(text); len(got) != want {
				t.Errorf("%d of %d bytes: found %d", len(text), length, len(got))
			}
		}
	}
	less := New()
	less.Leave("s3cr3t-1")
	less.Add(`{"password":"s3cr3t-1","token":"s3cr3t-2"}`)
	if got := less.String("s3cr3t-1 s3cr3t-2"); got != "s3cr3t-1 ***" {
		t.Errorf("got %q", got)
	}
}
