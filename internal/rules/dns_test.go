package rules

import (
	"os"
	"strings"
	"testing"
)

// The module for zones at Cloudflare cannot be tested here. What it has in common with the
// one for zones at OVH, which is, is the same: the addresses that it takes, and its output.
func TestDNSModulesAreAlike(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile("../../modules/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "cloudflare_dns_record", "ovh_domain_zone_record")
	}
	variable := func(text string) string {
		t.Helper()
		_, block, ok := strings.Cut(text, "\nvariable \"addresses\" {\n")
		block, _, end := strings.Cut(block, "\n}\n")
		if !ok || !end {
			t.Fatalf("there is no variable addresses in\n%s", text)
		}
		return block
	}
	if variable(read("dns_cloudflare/variables.tf")) != variable(read("dns_ovh/variables.tf")) {
		t.Error("they take other addresses")
	}
	if read("dns_cloudflare/outputs.tf") != read("dns_ovh/outputs.tf") {
		t.Error("they have other outputs")
	}
}
