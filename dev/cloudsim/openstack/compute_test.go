package openstack_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

func TestFlavors(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	f, err := flavors.Get(t.Context(), c.compute, c.flavor("b3-16")).Extract()
	if err != nil || f.Name != "b3-16" || f.VCPUs != 4 || f.RAM != 16000 || f.Disk != 100 || !f.IsPublic {
		t.Errorf("%+v, %v", f, err)
	}
	c.flavor("b3-8")
	c.flavor("d2-2")
	if specs, err := flavors.ListExtraSpecs(t.Context(), c.compute, f.ID).Extract(); err != nil || len(specs) != 0 {
		t.Errorf("%v, %v", specs, err)
	}
	refused(t, flavors.Get(t.Context(), c.compute, "x").Err, http.StatusNotFound)
	refused(t, flavors.ListExtraSpecs(t.Context(), c.compute, "x").Err, http.StatusNotFound)
}

func TestImages(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	for name, want := range map[string]int{"Debian 13": 1, "Debian 12": 1, "Ubuntu 24.04": 1, "": 3, "Windows": 0} {
		if all := c.images(images.ListOpts{Name: name, Visibility: images.ImageVisibilityPublic, Status: images.ImageStatusActive}); len(all) != want {
			t.Errorf("%s: %d", name, len(all))
		}
	}
	if all := c.images(images.ListOpts{Visibility: images.ImageVisibilityPrivate}); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	debian := c.images(images.ListOpts{Name: "Debian 13"})[0]
	if one, err := images.Get(t.Context(), c.image, debian.ID).Extract(); err != nil || one.Name != "Debian 13" || one.CreatedAt.IsZero() || one.SizeBytes == 0 {
		t.Errorf("%+v, %v", one, err)
	}
	refused(t, images.Get(t.Context(), c.image, "x").Err, http.StatusNotFound)
}

// The quota limits the number of servers, and the usage is reported.
func TestQuota(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	const project = "0123456789abcdef0123456789abcdef"
	three, two := 3, 2
	if set, err := quotasets.Update(t.Context(), c.compute, project, quotasets.UpdateOpts{Cores: &three}).Extract(); err != nil || set.Cores != 3 || set.Instances != 20 {
		t.Fatalf("%+v, %v", set, err)
	}
	_, err := c.create(extNet(c)) // takes two cores
	must(t, 0, err)
	_, err = c.create(extNet(c))
	refused(t, err, http.StatusForbidden)
	if err == nil || !strings.Contains(err.Error(), "Quota exceeded for cores: Requested 2, but already used 2 of 3 cores") {
		t.Errorf("%v", err)
	}
	_, err = quotasets.Update(t.Context(), c.compute, project, quotasets.UpdateOpts{Instances: &two}).Extract()
	must(t, 0, err)
	small := func(o *servers.CreateOpts) { o.FlavorRef = c.flavor("d2-2") }
	_, err = c.create(extNet(c), small)
	must(t, 0, err)
	_, err = c.create(extNet(c), small)
	if refused(t, err, http.StatusForbidden); err == nil || !strings.Contains(err.Error(), "Quota exceeded for instances: Requested 1, but already used 2 of 2 instances") {
		t.Errorf("%v", err)
	}
	if set, err := quotasets.Get(t.Context(), c.compute, project).Extract(); err != nil || set.Instances != 2 || set.Cores != 3 {
		t.Errorf("%+v, %v", set, err)
	}
	if now, err := limits.Get(t.Context(), c.compute, nil).Extract(); err != nil || now.Absolute.TotalInstancesUsed != 2 || now.Absolute.TotalCoresUsed != 3 || now.Absolute.MaxTotalCores != 3 {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	pages, err := availabilityzones.List(c.compute).AllPages(t.Context())
	if all, err := availabilityzones.ExtractAvailabilityZones(must(t, pages, err)); err != nil || len(all) != 1 || all[0].ZoneName != "nova" || !all[0].ZoneState.Available {
		t.Errorf("%+v, %v", all, err)
	}
}

// The version documents need no token.
func TestVersions(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	for path, want := range map[string]string{"identity/v3/": "v3.14", "compute/": "v2.1", "compute/v2.1/": "v2.1", "network/": "v2.0", "image/": "v2.9"} {
		status, body := c.fetch("/-/openstack/" + path)
		if !json.Valid([]byte(body)) || status != http.StatusOK || !strings.Contains(body, `"id":"`+want+`"`) {
			t.Errorf("%s: %d, %s", path, status, body)
		}
	}
}
