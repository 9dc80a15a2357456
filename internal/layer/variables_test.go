package layer_test

import (
	"slices"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

// tofu is given the credentials that it or a provider reads, and no other; the others are
// named.
func TestVariables(t *testing.T) {
	d := testkit.New(t)
	d.Environment.State.S3 = &environment.S3{Bucket: "state", Endpoint: "https://s3.example.org", Region: "r"}
	d.Credentials = map[string]string{
		"STATE_PASSPHRASE": "Vq3-7mBzT9xLw2KdRf8nHs4PcYj6", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "word",
		"TF_VAR_name": "value", "OS_PASSWORD": "cloud", "ANSIBLE_PASSWORD": "other", "SSH_PRIVATE_KEY": "pem", "ANSIBLE_VAR_password": "inner",
	}
	env, err := d.Variables()
	must.Do(t, err)
	all := "\n" + strings.Join(env, "\n") + "\n"
	for _, want := range []string{"\nTF_VAR_name=value\n", "\nOS_PASSWORD=cloud\n", "\nTF_IN_AUTOMATION=1\n", "\nTF_CLI_CONFIG_FILE=/dev/null\n", "\nAWS_SECRET_ACCESS_KEY=word\n", "\nAWS_ENDPOINT_URL_S3=https://s3.example.org\n", "\nTF_ENCRYPTION={"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	for _, secret := range []string{"ANSIBLE_PASSWORD", "SSH_PRIVATE_KEY", "ANSIBLE_VAR", "\nSTATE_PASSPHRASE"} {
		if strings.Contains(all, secret) {
			t.Errorf("it is given %s", secret)
		}
	}
	if names := layer.Unused(d.Credentials); !slices.Equal(names, []string{"ANSIBLE_PASSWORD"}) {
		t.Errorf("unused: %q", names)
	}
	d.Credentials["STATE_PASSPHRASE_PREVIOUS"] = "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"
	if names := layer.Unused(d.Credentials); len(names) != 1 {
		t.Errorf("unused: %q", names)
	}
	d.Store = nil
	env, err = d.Variables()
	must.Do(t, err)
	if all := strings.Join(env, "\n"); strings.Contains(all, "AWS_ENDPOINT_URL_S3") {
		t.Errorf("without a bucket it has one: %s", all)
	}
	d.Credentials["STATE_PASSPHRASE"] = "weak"
	if _, err := d.Variables(); err == nil {
		t.Error("a weak passphrase is used")
	}
}
