//go:build blackbox

package main

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"slipway/dev/cloudsim/faults"
	"slipway/dev/cloudsim/ovh"
	"slipway/internal/run"
)

const oneRecord = `provider "openstack" {}

provider "ovh" {}

module "dns" {
  source = "../../modules/dns_ovh"

  zone      = local.dns_zone
  name      = local.dns_name
  addresses = { A = "203.0.113.2" }
}
`

// answered is what the name servers of the zone answer with.
func (s *system) answered() string {
	s.t.Helper()
	response, err := http.Get(s.url + "/-/ovh/nameserver/" + ovh.Zone)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// A DNS record is made and changed where the world sees it, and is not lost when the answer
// to its creation is.
func TestBlackBoxRecord(t *testing.T) {
	s := newSystem(t)
	s.write("environments/test/main.tf", oneRecord)
	s.write("environments/test/outputs.tf", "")
	s.run("up").must(t, run.Done).says(t, "1 to create", `module.dns.ovh_domain_zone_record.address["A"]`)
	s.run("plan").must(t, run.Done).says(t, "No changes")
	s.write("environments/test/main.tf", strings.Replace(oneRecord, "203.0.113.2", "203.0.113.9", 1))
	s.run("apply").must(t, run.Done).says(t, "1 to update")
	if got := s.answered(); !strings.Contains(got, `"target":"203.0.113.9"`) || strings.Contains(got, "203.0.113.2") {
		t.Errorf("the world sees %s", got)
	}

	// The answer to the creation of a second one is lost.
	s.write("environments/test/main.tf", strings.Replace(oneRecord, `{ A = "203.0.113.2" }`, `{ A = "203.0.113.9", AAAA = "2001:db8::9" }`, 1))
	if err := s.rules.Replace([]faults.Rule{{Method: http.MethodPost, Path: "/record$", AfterEffect: true, Drop: true}}); err != nil {
		t.Fatal(err)
	}
	s.run("apply").must(t, run.Failed)
	if err := s.rules.Replace(nil); err != nil {
		t.Fatal(err)
	}
	account := s.account()
	records := func() (ids []int64) {
		t.Helper()
		if err := account.Get("/domain/zone/"+ovh.Zone+"/record", &ids); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	ids := records()
	if len(ids) != 2 {
		t.Fatalf("there are the records %v", ids)
	}
	s.run("recover").must(t, run.Done).says(t, `module.dns.ovh_domain_zone_record.address["AAAA"] was created: importing it into the state`)
	s.run("apply").must(t, run.Done).says(t, "No changes")
	if got := records(); !slices.Equal(got, ids) {
		t.Errorf("there were the records %v, and now %v", ids, got)
	}

	// The README of the module warns of this: provider 1.4.0 fails instead of recreating it.
	if err := account.Delete("/domain/zone/"+ovh.Zone+"/record/"+strconv.FormatInt(ids[1], 10), nil); err != nil {
		t.Fatal(err)
	}
	s.run("plan").must(t, run.Failed).says(t, "has been deleted", `module.dns.ovh_domain_zone_record.address["AAAA"]`)
}
